//! Pixels become a picture: parts painted over, the pointer drawn, the size changed, the format written (spec 10.3).
