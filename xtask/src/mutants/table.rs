//! Which test notices which hole. Where the read-back would stop the run before the hole could be used, it is switched off
//! with it, so that what notices is not the read-back.

/// Holes, with commas between, and the test of the command line that must fail with them open.
#[derive(Debug)]
pub(super) struct Mutant {
    pub(super) holes: &'static str,
    pub(super) binary: &'static str,
    pub(super) test: &'static str,
}

const fn noticed(holes: &'static str, binary: &'static str, test: &'static str) -> Mutant {
    Mutant { holes, binary, test }
}

pub(super) const MUTANTS: &[Mutant] = &[
    noticed("no-new-privileges", "native_identity", "no_privileges_inside"),
    noticed("capabilities", "native_identity", "no_privileges_inside"),
    noticed("capabilities,identity,read-back", "native_identity", "no_privileges_inside"),
    noticed("bounding-set", "native_identity", "no_privileges_inside"),
    noticed("bounding-set,read-back", "native_identity", "no_privileges_inside"),
    noticed("identity", "native_identity", "not_root_on_the_host_side"),
    noticed("identity,read-back", "native_identity", "not_root_on_the_host_side"),
    noticed("filter", "native_system_calls", "forbidden_calls_fail"),
    noticed("filter,read-back", "native_system_calls", "forbidden_calls_fail"),
    noticed("network", "native_network", "listeners_on_the_host_are_not_reached"),
    noticed("network,read-back", "native_network", "listeners_on_the_host_are_not_reached"),
    noticed("system-writable", "native_host_tree", "nothing_else_of_the_host_can_be_written"),
    noticed("set-id-mounts", "native_identity", "set_id_programs_gain_nothing"),
    noticed("blocked", "native_secrets", "blocked_files_are_hidden_and_cannot_be_made"),
    noticed("descriptors", "native_secrets", "only_three_descriptors"),
    noticed("dumpable", "native_secrets", "host_processes_are_not_to_be_seen"),
    noticed("limits", "native_limits", "memory_is_bounded_and_running_out_is_called_that"),
    noticed("core-limit", "native_receipts", "what_was_tried_stands_in_the_receipt"),
    noticed("proc-writable", "native_host_tree", "the_kernels_settings_are_mounted_read_only"),
    noticed("direct", "native_host_tree", "staged_writes_are_seen_inside_and_nowhere_else"),
    noticed("probe-write", "native_receipts", "what_was_tried_stands_in_the_receipt"),
    noticed("probe-network", "native_receipts", "what_was_tried_stands_in_the_receipt"),
    noticed("probe-process", "native_receipts", "what_was_tried_stands_in_the_receipt"),
    noticed("probe-socket", "native_receipts", "what_was_tried_stands_in_the_receipt"),
    noticed("probes-after", "native_receipts", "what_the_command_made_is_tried_after_it"),
    noticed(
        "links-followed",
        "changes_apply",
        "conflicts::a_directory_swapped_for_a_link_is_not_followed",
    ),
    noticed("conflicts", "changes_apply", "conflicts::a_host_edit_of_each_kind_is_a_conflict"),
    noticed(
        "object-hash",
        "changes_apply",
        "tampering::one_bit_of_an_object_the_manifest_or_the_ledger_is_enough",
    ),
    noticed(
        "manifest-hash",
        "changes_apply",
        "tampering::entries_in_another_order_are_not_the_set",
    ),
    noticed(
        "specials",
        "changes_threats",
        "planted::devices_are_named_and_denied_and_forged_whiteouts_hide_nothing_new",
    ),
    noticed(
        "classes",
        "changes_apply",
        "decisions::a_class_needs_its_yes_and_the_rest_need_not_wait",
    ),
    noticed("denied", "changes_apply", "decisions::what_is_denied_cannot_be_allowed"),
    noticed("budget", "changes_apply", "decisions::mass_deletion_needs_a_yes"),
    noticed("secrets", "changes_gate", "a_secret_is_named_by_rule_and_line_and_never_shown"),
    noticed("opaque", "changes_capture", "a_directory_that_was_made_anew_has_lost_what_was_in_it"),
    noticed(
        "redaction",
        "environment",
        "a_passed_value_is_nowhere_on_disk_even_when_it_is_printed",
    ),
    noticed("inert", "inert", "a_command_line_in_listings_and_errors"),
    noticed("chain", "audit", "flipped_deleted_reordered_truncated"),
    noticed("forbidden-mounts", "refusals", "mounts_outside_missing_and_forbidden"),
    noticed("unknown-keys", "refusals", "an_unknown_key"),
    noticed("project-loosens", "changes_threats", "handoff::a_program_cannot_loosen_the_next_run"),
    noticed("environment", "environment", "host_policy_decides_what_may_be_passed"),
];
