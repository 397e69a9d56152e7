//! A request to make a container, as the engine's interface has it. Only what we say; what an engine adds to it
//! is looked at afterwards (see `compare`).

use std::collections::BTreeMap;

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct CreateRequest {
    /// By its id, never by a name: what was looked at is what is run.
    pub(super) image: String,
    pub(super) entrypoint: Vec<String>,
    pub(super) cmd: Vec<String>,
    pub(super) env: Vec<String>,
    pub(super) working_dir: String,
    pub(super) user: String,
    pub(super) hostname: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) tty: bool,
    pub(super) open_stdin: bool,
    pub(super) stdin_once: bool,
    pub(super) attach_stdin: bool,
    pub(super) attach_stdout: bool,
    pub(super) attach_stderr: bool,
    /// Without any network, not even one of the engine's making: then the runtime makes a namespace with a
    /// loopback and nothing else, and no program of the engine's is started for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) network_disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) healthcheck: Option<Healthcheck>,
    pub(super) host_config: HostConfig,
}

/// Nothing of the image's runs beside the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Healthcheck {
    pub(super) test: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct HostConfig {
    pub(super) readonly_rootfs: bool,
    pub(super) privileged: bool,
    pub(super) cap_add: Vec<String>,
    pub(super) cap_drop: Vec<String>,
    pub(super) security_opt: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<u64>,
    /// Memory and swap together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory_swap: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nano_cpus: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pids_limit: Option<u32>,
    pub(super) network_mode: String,
    pub(super) ipc_mode: String,
    pub(super) init: bool,
    pub(super) auto_remove: bool,
    pub(super) tmpfs: BTreeMap<String, String>,
    pub(super) mounts: Vec<MountPoint>,
    /// Overlays that Podman mounts without root, for which it has no other word: `LOWER:TARGET:O,…`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) binds: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) userns_mode: Option<String>,
    pub(super) ulimits: Vec<Ulimit>,
    pub(super) log_config: LogConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runtime: Option<String>,
}

/// Typed, not `SOURCE:TARGET`: no sign in a path means anything, and a missing source is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct MountPoint {
    #[serde(rename = "Type")]
    pub(super) kind: MountKind,
    pub(super) source: String,
    pub(super) target: String,
    pub(super) read_only: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bind_options: Option<BindOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) volume_options: Option<VolumeOptions>,
}

/// Without this an engine makes an empty volume what the image has in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct VolumeOptions {
    pub(super) no_copy: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MountKind {
    Bind,
    Volume,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BindOptions {
    pub(super) propagation: String,
    /// A read-only bind is read-only at its top only: what is mounted below stays as it is, so nothing below
    /// is taken along but where it is ours.
    pub(super) non_recursive: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Ulimit {
    pub(super) name: String,
    pub(super) soft: u64,
    pub(super) hard: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct LogConfig {
    #[serde(rename = "Type")]
    pub(super) kind: String,
}

/// A volume that is an overlay, mounted by the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct VolumeRequest {
    pub(super) name: String,
    pub(super) driver: String,
    pub(super) driver_opts: BTreeMap<String, String>,
    pub(super) labels: BTreeMap<String, String>,
}
