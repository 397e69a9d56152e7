//! Patterns of git's as patterns of this program's: the same signs mean other things at the edges.
//!
//! In git there is no `{a,b}`; a class has names (`[:digit:]`) and escapes in it and never means a slash; stars that do not stand
//! for whole directories are one star. Nothing where git would not fit a pattern to any path.

/// A pattern that is tied to its directory.
pub(super) fn tied(pattern: &str) -> Option<String> {
    translated(pattern, String::new())
}

/// A pattern of a name, at any depth.
pub(super) fn name(pattern: &str) -> Option<String> {
    // Git holds it against the last name alone: there stars are stars.
    let is_all = pattern.bytes().all(|sign| sign == b'*');
    translated(if is_all { "*" } else { pattern }, "**/".to_owned())
}

fn translated(pattern: &str, mut text: String) -> Option<String> {
    let signs: Vec<char> = pattern.chars().collect();
    let (mut at, mut is_plain) = (0, true);
    while let Some(sign) = signs.get(at) {
        let begin = at;
        at += 1;
        match sign {
            '\\' => {
                literal(&mut text, *signs.get(at)?);
                at += 1;
            }
            '*' => {
                at += signs[at..].iter().take_while(|sign| **sign == '*').count();
                let at_name = begin == 0 || signs[begin - 1] == '/';
                let to_name = match signs.get(at) {
                    None | Some('/') => true,
                    Some('\\') => signs.get(at + 1) == Some(&'/'),
                    Some(_) => false,
                };
                text.push_str(match (at - begin >= 2 && to_name, at_name) {
                    // Before an escaped slash there is a directory at least.
                    (true, true) if signs.get(at) == Some(&'\\') => "*/**",
                    (true, true) => "**",
                    // Git, up to 2.52 at least, compares what is plain at the beginning for itself, and takes the stars after
                    // it for the beginning of the pattern.
                    (true, false) if is_plain && at < signs.len() => "*/**",
                    _ => "*",
                });
            }
            '[' => {
                let (class, end) = Class::parse(&signs, at)?;
                text.push_str(&class.text()?);
                at = end;
            }
            '?' => text.push('?'),
            sign => {
                literal(&mut text, *sign);
                continue;
            }
        }
        is_plain = false;
    }
    Some(text)
}

fn literal(text: &mut String, sign: char) {
    if "*?[]{}!^\\,".contains(sign) {
        text.push('\\');
    }
    text.push(sign);
}

/// What stands between brackets: a set of ASCII characters, or all but those.
#[derive(Debug)]
struct Class {
    negated: bool,
    members: [bool; 128],
}

impl Class {
    /// From behind the bracket that opens it to behind the one that closes it. Nothing where git's would fit nothing, or where it
    /// has parts of characters in it.
    fn parse(signs: &[char], mut at: usize) -> Option<(Self, usize)> {
        let negated = matches!(signs.get(at), Some('!' | '^'));
        at += usize::from(negated);
        let mut class = Self { negated, members: [false; 128] };
        let first = at;
        let mut before: Option<char> = None;
        loop {
            let sign = *signs.get(at)?;
            if sign == ']' && at > first {
                return Some((class, at + 1));
            }
            let next = signs.get(at + 1);
            before = match (sign, before) {
                ('\\', _) => {
                    at += 1;
                    class.add(*signs.get(at)?)?;
                    signs.get(at).copied()
                }
                ('-', Some(from)) if next.is_some_and(|next| *next != ']') => {
                    at += if next == Some(&'\\') { 2 } else { 1 };
                    let to = *signs.get(at)?;
                    (from..=to).try_for_each(|sign| class.add(sign))?;
                    None
                }
                ('[', _) if next == Some(&':') => {
                    let name = at + 2;
                    let length = signs[name..].iter().position(|sign| *sign == ']')?;
                    match signs[name..name + length].split_last() {
                        Some((':', known)) => {
                            let is_member = named(&known.iter().collect::<String>())?;
                            (0..128_u8).filter(is_member).try_for_each(|b| class.add(b.into()))?;
                            at = name + length;
                            None
                        }
                        _ => {
                            class.add(sign)?;
                            Some(sign)
                        }
                    }
                }
                _ => {
                    class.add(sign)?;
                    Some(sign)
                }
            };
            at += 1;
        }
    }

    fn add(&mut self, sign: char) -> Option<()> {
        *self.members.get_mut(u32::from(sign) as usize)? = true;
        Some(())
    }

    /// As a class here, where a slash would be like any other and a backslash is itself.
    fn text(mut self) -> Option<String> {
        self.members[usize::from(b'/')] = self.negated;
        let has = |sign: u8| self.members[usize::from(sign)];
        let mut text = String::new();
        // Each of these means something in some place: first, last, or not first.
        text.extend(has(b']').then_some(']'));
        let is_plain = |sign: &u8| has(*sign) && !b"]-!^".contains(sign);
        let mut plain = (0..128_u8).filter(is_plain).peekable();
        while let Some(from) = plain.next() {
            let mut to = from;
            while let Some(next) = plain.next_if(|next| *next == to + 1) {
                to = next;
            }
            text.push(from.into());
            if to > from {
                text.push('-');
                text.push(to.into());
            }
        }
        let odd: String = ['!', '^'].into_iter().filter(|sign| has(*sign as u8)).collect();
        let dash = if has(b'-') { "-" } else { "" };
        match (self.negated, text.is_empty(), odd.as_str()) {
            (true, ..) => Some(format!("[!{text}{odd}{dash}]")),
            (false, false, _) => Some(format!("[{text}{odd}{dash}]")),
            (false, true, "") => (!dash.is_empty()).then(|| "[-]".to_owned()),
            (false, true, _) if !dash.is_empty() => Some(format!("[-{odd}]")),
            (false, true, "!^") => Some("{\\!,\\^}".to_owned()),
            (false, true, _) => Some(format!("\\{odd}")),
        }
    }
}

/// The characters of a named class, in git's own sense of them.
fn named(name: &str) -> Option<fn(&u8) -> bool> {
    fn is_space(byte: &u8) -> bool {
        matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
    }
    Some(match name {
        "alnum" => u8::is_ascii_alphanumeric,
        "alpha" => u8::is_ascii_alphabetic,
        "blank" => |byte| matches!(byte, b' ' | b'\t'),
        "cntrl" => u8::is_ascii_control,
        "digit" => u8::is_ascii_digit,
        "graph" => u8::is_ascii_graphic,
        "lower" => u8::is_ascii_lowercase,
        "print" => |byte| byte.is_ascii_graphic() || *byte == b' ',
        "punct" => u8::is_ascii_punctuation,
        "space" => is_space,
        "upper" => u8::is_ascii_uppercase,
        "xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}
