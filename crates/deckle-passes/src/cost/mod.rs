//! Predicted work, depth and space.
