//! The judgement of a line.

use serde::{Deserialize, Serialize};

use super::pattern::Fit;
use super::{BUILT_IN, CommandPattern, Line, SimpleCommand, Verdict};
use crate::refusal::{Refusal, Rule};

/// Rules for commands: patterns by verdict, the built-in ones, and what holds where none says anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPolicy {
    /// Whether the built-in rules count.
    pub builtin: bool,
    /// The verdict on a command that no rule speaks of.
    pub default: Verdict,
    pub allow: Vec<CommandPattern>,
    pub review: Vec<CommandPattern>,
    pub deny: Vec<CommandPattern>,
}

impl Default for CommandPolicy {
    fn default() -> Self {
        let none = Vec::new;
        Self {
            builtin: false,
            default: Verdict::Allow,
            allow: none(),
            review: none(),
            deny: none(),
        }
    }
}

/// Whether somebody has looked at a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// Nobody has.
    #[default]
    Asked,
    /// Whoever asks for it said yes to what needs a look.
    Reviewed,
    /// It is a command of our own making, which no rule is about.
    Own,
}

impl Approval {
    pub fn is_asked(&self) -> bool {
        *self == Self::Asked
    }
}

/// What a plan says about commands: the rules, and whether a yes was given beforehand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRules {
    pub policy: CommandPolicy,
    #[serde(default)]
    pub approval: Approval,
}

impl CommandRules {
    pub fn is_silent(&self) -> bool {
        self.policy.is_silent()
    }
}

/// A rule that spoke of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The built-in rule's name, or the key and the pattern.
    pub rule: String,
    pub verdict: Verdict,
    pub reason: String,
}

/// One command of a line, and what was said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// As one would write it.
    pub text: String,
    #[serde(flatten)]
    pub command: SimpleCommand,
    pub verdict: Verdict,
    /// The strictest first. Empty where no rule spoke of it.
    pub rules: Vec<Hit>,
}

/// The verdict on a whole line, with its grounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    pub verdict: Verdict,
    pub parts: Vec<Part>,
    /// Grounds that are about no single command.
    pub rules: Vec<Hit>,
}

impl Decision {
    /// The rule that decided, and the command that it spoke of.
    pub fn ground(&self) -> Option<(Option<&Part>, &Hit)> {
        let of_parts =
            self.parts.iter().flat_map(|part| part.rules.iter().map(move |hit| (Some(part), hit)));
        let of_line = self.rules.iter().map(|hit| (None, hit));
        of_parts.chain(of_line).find(|(_, hit)| hit.verdict == self.verdict)
    }
}

impl CommandPolicy {
    /// Whether it can say anything but yes. Where it cannot, nothing needs to be parsed.
    pub fn is_silent(&self) -> bool {
        !self.builtin
            && self.default == Verdict::Allow
            && self.review.is_empty()
            && self.deny.is_empty()
    }

    /// Says no to a decision that does not allow, in words.
    pub fn refusal(decision: &Decision, approval: Approval) -> Option<Refusal> {
        let (rule, remedy) = match (decision.verdict, approval) {
            (Verdict::Allow, _) | (_, Approval::Own) | (Verdict::Review, Approval::Reviewed) => {
                return None;
            }
            (Verdict::Review, Approval::Asked) => (
                Rule::CommandReviewed,
                "look at it, and say yes with --reviewed; `cofferdam policy explain` shows how it was judged",
            ),
            (Verdict::Deny, _) => (
                Rule::CommandAllowed,
                "run something else, or change policy.commands in the host file; `cofferdam policy explain` shows how \
                 it was judged",
            ),
        };
        let (text, ground) = match decision.ground() {
            Some((Some(part), hit)) => {
                (format!("`{}`: ", part.text), format!("{} ({})", hit.reason, hit.rule))
            }
            Some((None, hit)) => (String::new(), format!("{} ({})", hit.reason, hit.rule)),
            None => (String::new(), "a rule says so".to_owned()),
        };
        Some(Refusal {
            rule,
            field: "policy.commands".to_owned(),
            message: format!("{text}{ground}"),
            remedy: remedy.to_owned(),
        })
    }

    pub fn judge(&self, line: &Line) -> Decision {
        let parts: Vec<Part> = line.commands.iter().map(|command| self.part(command)).collect();
        let rules: Vec<Hit> = line
            .problems
            .iter()
            .map(|problem| Hit {
                rule: "shell/not-understood".to_owned(),
                verdict: Verdict::Review,
                reason: problem.message.clone(),
            })
            .collect();
        let of_parts = parts.iter().map(|part| part.verdict);
        let verdict = of_parts.chain(rules.iter().map(|hit| hit.verdict)).max();
        Decision { verdict: verdict.unwrap_or(Verdict::Allow), parts, rules }
    }

    fn part(&self, command: &SimpleCommand) -> Part {
        let mut rules: Vec<Hit> = Vec::new();
        if self.builtin {
            rules.extend(BUILT_IN.iter().filter(|rule| (rule.speaks_of)(command)).map(|rule| {
                Hit {
                    rule: rule.id.to_owned(),
                    verdict: rule.verdict,
                    reason: rule.reason.to_owned(),
                }
            }));
        }
        let lists = [
            (Verdict::Deny, &self.deny),
            (Verdict::Review, &self.review),
            (Verdict::Allow, &self.allow),
        ];
        for (verdict, patterns) in lists {
            rules.extend(patterns.iter().filter_map(|pattern| hit(verdict, pattern, command)));
        }
        rules.sort_by_key(|hit| std::cmp::Reverse(hit.verdict));
        let verdict = rules.first().map_or(self.default, |hit| hit.verdict);
        if rules.is_empty() && self.default > Verdict::Allow {
            rules.push(Hit {
                rule: "policy.commands.default".to_owned(),
                verdict: self.default,
                reason: "no rule speaks of this command".to_owned(),
            });
        }
        Part { text: command.text(), command: command.clone(), verdict, rules }
    }
}

fn hit(verdict: Verdict, pattern: &CommandPattern, command: &SimpleCommand) -> Option<Hit> {
    let rule = format!("policy.commands.{}: {pattern}", verdict.name());
    match pattern.fit(command) {
        Fit::No => None,
        Fit::Yes => Some(Hit {
            rule,
            verdict,
            reason: "the host's or the project's file says so".to_owned(),
        }),
        // Nobody can know before it runs, so somebody looks; what may be allowed is not.
        Fit::Perhaps if verdict == Verdict::Allow => None,
        Fit::Perhaps => Some(Hit {
            rule,
            verdict: Verdict::Review,
            reason: "it may turn out to be one that the rule speaks of".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Word;
    use super::*;

    fn line(texts: &[&str]) -> Line {
        let command =
            |text: &&str| SimpleCommand {
                words: text
                    .split(' ')
                    .map(|word| {
                        if word.starts_with('$') { Word::unknown(word) } else { Word::known(word) }
                    })
                    .collect(),
                ..SimpleCommand::default()
            };
        Line { commands: texts.iter().map(command).collect(), problems: Vec::new() }
    }

    fn patterns(texts: &[&str]) -> Vec<CommandPattern> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_strictest_wins() {
        let policy = CommandPolicy {
            allow: patterns(&["git *"]),
            review: patterns(&["git push *"]),
            deny: patterns(&["git push --force *"]),
            ..CommandPolicy::default()
        };
        let verdict = |text: &str| policy.judge(&line(&[text])).verdict;
        assert_eq!(verdict("git status"), Verdict::Allow);
        assert_eq!(verdict("git push"), Verdict::Review);
        assert_eq!(verdict("git push --force origin"), Verdict::Deny);
        assert_eq!(verdict("git $x"), Verdict::Review);
        let both = policy.judge(&line(&["git status", "git push --force x", "git push"]));
        assert_eq!(both.verdict, Verdict::Deny);
        let (part, hit) = both.ground().unwrap();
        assert_eq!(part.unwrap().text, "git push --force x");
        assert_eq!(hit.rule, "policy.commands.deny: git push --force *");
    }

    #[test]
    fn what_no_rule_speaks_of_has_the_default() {
        let policy = CommandPolicy {
            default: Verdict::Review,
            allow: patterns(&["ls *"]),
            ..CommandPolicy::default()
        };
        assert_eq!(policy.judge(&line(&["ls -l"])).verdict, Verdict::Allow);
        assert_eq!(policy.judge(&line(&["ls -l", "cat x"])).verdict, Verdict::Review);
        assert_eq!(policy.judge(&line(&["$x"])).verdict, Verdict::Review);
        assert!(!policy.is_silent() && CommandPolicy::default().is_silent());
    }

    #[test]
    fn what_is_not_understood_is_looked_at() {
        let problems = vec![super::super::Problem { message: "no end".into(), range: 0..0 }];
        let line = Line { problems, ..Line::default() };
        assert_eq!(CommandPolicy::default().judge(&line).verdict, Verdict::Review);
    }
}
