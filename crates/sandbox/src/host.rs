//! Looks at the host: paths as they really are, and the toolchains that the user's `PATH` leads to.

mod checkout;
mod lookup;
mod memory;
mod release;
mod repository;
mod toolchains;

pub(crate) use checkout::{Checkout, checkout};
pub use lookup::{LookupError, look_up};
pub use memory::total_memory;
pub use release::kernel_release;
pub(crate) use repository::repository;
pub use toolchains::{Homes, Toolchain, toolchains};
