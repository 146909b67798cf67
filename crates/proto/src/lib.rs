//! Wire formats and protocol machines, without any I/O.
