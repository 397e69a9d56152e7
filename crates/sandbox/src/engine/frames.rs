//! Takes a container's two output streams apart, which an engine sends on one connection: a head of eight
//! bytes, of which the first says which stream and the last four how long, then so many bytes.

use cofferdam_native::supervise::StreamName;

/// Where in the stream of frames we are.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    head: Vec<u8>,
    stream: Option<StreamName>,
    left: usize,
}

/// Something that no engine sends.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of stream {0}")]
pub(crate) struct NotAFrame(u8);

const HEAD: usize = 8;

impl Frames {
    /// Hands on what is in `bytes`, piece by piece.
    pub(crate) fn take(
        &mut self,
        mut bytes: &[u8],
        sink: &mut dyn FnMut(StreamName, &[u8]),
    ) -> Result<(), NotAFrame> {
        while !bytes.is_empty() {
            if self.left > 0 {
                let (piece, rest) = bytes.split_at(self.left.min(bytes.len()));
                // Input that the engine echoes is nobody's output.
                if let Some(stream) = self.stream {
                    sink(stream, piece);
                }
                self.left -= piece.len();
                bytes = rest;
                continue;
            }
            let (part, rest) = bytes.split_at((HEAD - self.head.len()).min(bytes.len()));
            self.head.extend_from_slice(part);
            bytes = rest;
            if let [kind, _, _, _, length @ ..] = self.head.as_slice()
                && let Ok(length) = <[u8; 4]>::try_from(length)
            {
                self.stream = match kind {
                    0 => None,
                    1 => Some(StreamName::Stdout),
                    2 => Some(StreamName::Stderr),
                    other => return Err(NotAFrame(*other)),
                };
                self.left = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                self.head.clear();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, text: &[u8]) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        [&[kind, 0, 0, 0], &length[..], text].concat()
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_streams_are_the_same(
            parts in prop::collection::vec((1u8..3, prop::collection::vec(any::<u8>(), 0..20)), 0..12),
            cut in 1usize..9,
        ) {
            let sent: Vec<u8> = parts.iter().flat_map(|(kind, text)| frame(*kind, text)).collect();
            let (mut frames, mut out, mut err) = (Frames::default(), Vec::new(), Vec::new());
            for piece in sent.chunks(cut) {
                frames.take(piece, &mut |stream, bytes| match stream {
                    StreamName::Stdout => out.extend_from_slice(bytes),
                    StreamName::Stderr => err.extend_from_slice(bytes),
                }).unwrap();
            }
            let of = |wanted: u8| -> Vec<u8> {
                parts.iter().filter(|(kind, _)| *kind == wanted).flat_map(|(_, t)| t.clone()).collect()
            };
            prop_assert_eq!(out, of(1));
            prop_assert_eq!(err, of(2));
        }
    }

    #[test]
    fn anything_else_is_an_error() {
        let mut frames = Frames::default();
        assert_eq!(frames.take(b"HTTP/1.1", &mut |_, _| {}), Err(NotAFrame(b'H')));
    }
}
