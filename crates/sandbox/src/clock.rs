//! The one place that reads the wall clock and the random source.

use cofferdam_core::id::RunId;
use cofferdam_core::stamp::Stamp;
use cofferdam_native::random::fill;

use crate::state::StateError;

pub(crate) fn now() -> Stamp {
    Stamp::new(jiff::Timestamp::now())
}

pub(crate) fn new_run_id(at: Stamp) -> Result<RunId, StateError> {
    let mut random = [0; 16];
    fill(&mut random).map_err(|source| StateError::Random { source })?;
    Ok(RunId::from_parts(at.unix_millis(), u128::from_le_bytes(random)))
}
