//! Pointer and keyboard of an X server: XTEST for what is sent, XInput2 for what the person does.

mod tap;
