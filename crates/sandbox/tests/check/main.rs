//! The validator held against labelled snippets, and against input that was made to break it.

mod corpus;
mod hostile;
mod rules;
