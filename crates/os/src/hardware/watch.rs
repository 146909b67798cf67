//! Tells when devices come and go.
