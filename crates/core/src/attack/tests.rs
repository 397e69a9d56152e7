use std::collections::BTreeSet;

use super::*;

#[test]
fn there_are_many_each_with_a_name_of_its_own_and_every_group_has_some() {
    let ids: BTreeSet<&str> = all().map(|attack| attack.id).collect();
    assert_eq!(ids.len(), all().count(), "two have one name");
    assert!(ids.len() >= 120, "{}", ids.len());
    for group in Group::ALL {
        let here: Vec<_> = all().filter(|attack| attack.group == group).collect();
        assert!(here.len() >= 8, "{group:?}: {}", here.len());
        for attack in here {
            assert_eq!(attack.id.split('-').next(), Some(group.letter()), "{}", attack.id);
        }
    }
}

#[test]
fn each_says_what_is_tried_and_what_holds_and_is_claimed_by_somebody() {
    for attack in all() {
        assert!(!attack.tried.is_empty() && !attack.holds.is_empty(), "{}", attack.id);
        assert!(!attack.on.is_empty() && !attack.on.contains(&Backend::Local), "{}", attack.id);
        if let Some(known) = attack.known {
            assert!(known.on.iter().all(|backend| attack.on.contains(backend)), "{}", attack.id);
        }
    }
}

/// A check that cannot fail is none: steps look at something, and something shows what is not refused.
#[test]
fn steps_look_and_have_a_twin() {
    for attack in all() {
        let Way::Steps(steps) = attack.way else { continue };
        assert!(steps.iter().any(|step| step.looks()), "{} looks at nothing", attack.id);
        let twin = steps.iter().any(|step| matches!(step, Step::Twin(_)));
        assert!(twin, "{} has no twin", attack.id);
    }
}

#[test]
fn scripts_that_win_can_say_so() {
    for attack in all() {
        if let Way::Inside { script, twin, .. } = attack.way {
            assert!(script.contains("won") || script.contains("{outside}"), "{}", attack.id);
            if let Twin::Allowed(twin) = twin {
                assert!(twin.contains("won"), "{}", attack.id);
            }
        }
    }
}
