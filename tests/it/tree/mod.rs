//! Whole trees without a mount (laws T).

mod scan;
