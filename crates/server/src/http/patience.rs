//! A connection that is given up when its other end takes nothing for long.
//!
//! Streams are read from the store as they are written, so that a slow reader costs no memory here; but it holds a
//! connection, and whatever the kernel keeps for it. One that has stopped reading must not do so for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

#[derive(Debug)]
pub(crate) struct Patient<T> {
    inner: T,
    patience: Duration,
    until: Pin<Box<Sleep>>,
    /// Whether something is to be written and is not taken.
    stuck: bool,
}

impl<T> Patient<T> {
    pub(crate) fn new(inner: T, patience: Duration) -> Self {
        Self { inner, patience, until: Box::pin(sleep(patience)), stuck: false }
    }

    fn judge<R>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if polled.is_ready() {
            self.stuck = false;
            return polled;
        }
        if !self.stuck {
            self.stuck = true;
            self.until.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.until.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other end reads nothing")))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Patient<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Patient<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.judge(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.judge(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(context);
        self.judge(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_shutdown(context);
        self.judge(context, polled)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stops_is_given_up_and_a_slow_one_is_not() {
        let (near, mut far) = duplex(16);
        let mut near = Patient::new(near, Duration::from_secs(30));
        let slow = tokio::spawn(async move {
            let mut seen = [0; 16];
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_secs(20)).await;
                far.read_exact(&mut seen).await.expect("there is more");
            }
            tokio::time::sleep(Duration::from_secs(3600)).await;
            drop(far);
        });
        near.write_all(&[7; 80]).await.expect("it is slow, but reads");
        let stopped = near.write_all(&[7; 16]).await.expect_err("it has stopped reading");
        assert_eq!(stopped.kind(), io::ErrorKind::TimedOut);
        slow.abort();
    }
}
