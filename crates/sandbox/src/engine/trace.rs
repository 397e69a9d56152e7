//! What BuildKit tells of a build: `moby.buildkit.trace`, a protobuf message (`StatusResponse`) in base64.
//! Only the names of steps and their output are read; what is not understood is passed over.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Which steps were told of.
#[derive(Debug, Default)]
pub(super) struct Trace {
    told: BTreeSet<Vec<u8>>,
}

impl Trace {
    /// The lines that a message adds.
    pub(super) fn hear(&mut self, aux: &str) -> Vec<String> {
        let Ok(bytes) = BASE64_STANDARD.decode(aux) else { return Vec::new() };
        let mut lines = Vec::new();
        for (field, value) in fields(&bytes) {
            match field {
                1 => lines.extend(self.vertex(value)),
                3 => {
                    let text = fields(value).find(|(field, _)| *field == 4);
                    let text = text.map(|(_, text)| String::from_utf8_lossy(text).into_owned());
                    lines.extend(text.iter().flat_map(|text| text.lines()).map(str::to_owned));
                }
                _ => {}
            }
        }
        lines
    }

    fn vertex(&mut self, message: &[u8]) -> Option<String> {
        let all: Vec<_> = fields(message).collect();
        let bytes =
            |wanted| all.iter().find(|(field, _)| *field == wanted).map(|(_, value)| *value);
        let name = String::from_utf8_lossy(bytes(3)?).into_owned();
        let is_begun = bytes(5).is_some();
        if name.starts_with("[internal]") || !is_begun || !self.told.insert(bytes(1)?.to_vec()) {
            return None;
        }
        let cached = if has_flag(message, 4) { " (cached)" } else { "" };
        Some(format!("{name}{cached}"))
    }
}

/// The fields of a message that have bytes, as long as it is well-formed.
fn fields(mut rest: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    std::iter::from_fn(move || {
        loop {
            let key = varint(&mut rest)?;
            let field = key >> 3;
            match key & 7 {
                0 => {
                    varint(&mut rest)?;
                }
                1 => rest = rest.get(8..)?,
                2 => {
                    let length = usize::try_from(varint(&mut rest)?).ok()?;
                    let (value, after) = (rest.get(..length)?, rest.get(length..)?);
                    rest = after;
                    return Some((field, value));
                }
                5 => rest = rest.get(4..)?,
                _ => return None,
            }
        }
    })
}

/// Whether a field that is a number is there and not zero.
fn has_flag(mut rest: &[u8], wanted: u64) -> bool {
    while let Some(key) = varint(&mut rest) {
        let number = match key & 7 {
            0 => varint(&mut rest),
            2 => varint(&mut rest).and_then(|length| {
                rest = rest.get(usize::try_from(length).ok()?..)?;
                Some(0)
            }),
            _ => None,
        };
        match number {
            Some(number) if key >> 3 == wanted && key & 7 == 0 => return number != 0,
            Some(_) => {}
            None => return false,
        }
    }
    false
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
    }

    #[test]
    fn steps_are_told_once_and_output_as_it_comes() {
        let step =
            [field(1, b"sha256:a"), field(3, b"[1/2] RUN make"), vec![4 << 3, 1], field(5, b"")]
                .concat();
        let log = [field(1, b"sha256:a"), vec![3 << 3, 1], field(4, b"one\ntwo\n")].concat();
        let message = BASE64_STANDARD.encode([field(1, &step), field(3, &log)].concat());
        let mut trace = Trace::default();
        assert_eq!(trace.hear(&message), ["[1/2] RUN make (cached)", "one", "two"]);
        assert_eq!(trace.hear(&message), ["one", "two"]);
        assert!(trace.hear("no base64!").is_empty());
    }

    proptest! {
        #[test]
        fn nonsense_is_passed_over(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            Trace::default().hear(&BASE64_STANDARD.encode(&bytes));
        }
    }
}
