//! What every handler has at hand.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::names::Names;
use super::rate::Rates;
use super::tail::Tail;
use super::tally::Tally;
use crate::plane::Plane;

#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    plane: Plane,
    names: Names,
    rates: Rates,
    tally: Tally,
    tail: Arc<Tail>,
    ends: Ends,
}

/// How a server is told of its end.
#[derive(Debug)]
pub(crate) struct Ends {
    /// Canceled when it will end, once what runs is over.
    pub(crate) leaving: CancellationToken,
    /// Canceled when it is to stop.
    pub(crate) stop: CancellationToken,
}

impl App {
    pub(crate) fn new(plane: Plane, names: Names, rate: Option<u32>, ends: Ends) -> Self {
        let (rates, tally) = (Rates::new(rate), Tally::default());
        let tail = Tail::start(plane.clone(), ends.stop.clone());
        Self(Arc::new(Parts { plane, names, rates, tally, tail, ends }))
    }

    pub(crate) fn plane(&self) -> &Plane {
        &self.0.plane
    }

    pub(crate) fn names(&self) -> &Names {
        &self.0.names
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.0.rates
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.0.tally
    }

    pub(crate) fn tail(&self) -> &Tail {
        &self.0.tail
    }

    /// Canceled when the server is to stop.
    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.0.ends.stop
    }

    /// Whether it will end, or does.
    pub(crate) fn is_leaving(&self) -> bool {
        let Ends { leaving, stop } = &self.0.ends;
        leaving.is_cancelled() || stop.is_cancelled()
    }
}
