//! The report of an evaluation: a page, plots and tables.

pub mod plot;
