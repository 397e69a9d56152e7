//! Roots that were furnished once, to be copied for each sandbox that has the same.
//!
//! Of what it takes to make a sandbox, a good part is the same every time: the system's trees, a made-up
//! `/etc`, the devices. A process that makes many furnishes one root and gives each sandbox a copy of its mounts.
//! What is shared can be written by nobody: the root is read-only before there is a copy, and all that a
//! sandbox writes to is mounted for it alone.
//!
//! Only for root, whose sandboxes are in the host's user namespace, and where the kernel mounts into a tree that
//! is attached nowhere (Linux 6.15). Everywhere else, each sandbox is furnished by itself, and comes to the same.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cofferdam_core::mount::HostPath;
use cofferdam_core::plan::{HOME, Plan, Root as RootPlan};
use cofferdam_core::result::PLACE;
use cofferdam_core::spec::Mode;

use rustix::process::umask;

use crate::identity::Identity;
use crate::recipe::{MASK, furnish};
use crate::root::{PlaceKind, Root, RootAccess, binds, memory};
use crate::sys::SysError;
use crate::sys::mount::Depth;
use crate::witness::{self, Seen};

/// So many are kept: those that were asked for last.
const MOST: usize = 4;

/// What a maker of sandboxes keeps of them, the one that was asked for last first.
#[derive(Debug, Default)]
pub(crate) struct Templates(Mutex<Vec<Template>>);

#[derive(Debug)]
struct Template {
    of: Shape,
    /// None where it cannot be made.
    root: Option<Root>,
}

/// All that a furnished root depends on: equal shapes, equal roots.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    uid: u32,
    gid: u32,
    workspace: PathBuf,
    /// Where something is mounted for one sandbox alone: nothing can be made in a root that others have, too.
    places: Vec<(PathBuf, PlaceKind)>,
    system: Vec<Seen>,
}

impl Templates {
    /// A copy of the root that a sandbox of this plan is to have; none where it is to be furnished by itself.
    pub(crate) fn copy_for(&self, plan: &Plan, identity: &Identity) -> Option<OwnedFd> {
        if identity.has_user_namespace() {
            return None;
        }
        let shape = Shape::of(plan, identity)?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|template| template.of == shape);
        let template = match at {
            Some(at) => kept.remove(at),
            // Whatever is wrong, a sandbox that is furnished by itself finds it too, and says it.
            None => Template { root: shape.furnished(identity), of: shape },
        };
        let copy = template.root.as_ref().and_then(|root| root.copy().ok());
        kept.insert(0, template);
        kept.truncate(MOST);
        copy
    }
}

impl Shape {
    /// None where the root of this plan is one sandbox's own.
    fn of(plan: &Plan, identity: &Identity) -> Option<Self> {
        let is_shared = matches!(plan.root, RootPlan::Host { readonly: true });
        // Its settings would be written into the root.
        let has_settings = plan.repository.is_some() && plan.workspace.mode != Mode::Stage;
        if !is_shared || has_settings {
            return None;
        }
        let directory = |path: &Path| (path.to_owned(), PlaceKind::Directory);
        let host = |target: &Path, source: &HostPath| (target.to_owned(), PlaceKind::of(source));
        let workspace = plan.workspace.target.to_path_buf();
        let mut places = vec![directory(&workspace)];
        places.extend(plan.tmpfs.keys().map(|target| directory(target)));
        places.push(directory(Path::new(HOME)));
        places.extend(plan.repository.iter().map(|repository| directory(&repository.target)));
        let tools = plan.toolchains.iter().filter(|tool| !binds::is_of_the_system(tool));
        places.extend(tools.map(|tool| host(&tool.asked, tool)));
        places.extend(plan.mounts.iter().map(|mount| host(&mount.target, &mount.source)));
        if plan.result.is_some() {
            places.push(directory(Path::new(PLACE)));
        }
        let system = witness::system()?;
        Some(Self { uid: identity.uid, gid: identity.gid, workspace, places, system })
    }

    /// Under the mask of the recipe, as in a sandbox's own process: the caller may have been started with another.
    fn furnished(&self, identity: &Identity) -> Option<Root> {
        let own = umask(MASK);
        let root = self.made(identity);
        umask(own);
        root
    }

    fn made(&self, identity: &Identity) -> Option<Root> {
        let root = Root::new(&self.workspace).ok()?;
        furnish(&root, identity, Depth::One).ok()?;
        self.make_places(&root).ok()?;
        root.finish(RootAccess::Readonly, identity).ok()?;
        Some(root)
    }

    fn make_places(&self, root: &Root) -> Result<(), SysError> {
        for (place, kind) in self.places.iter().filter(|(place, _)| root.may_make(place)) {
            root.place(place, *kind)?;
        }
        memory::one_for_temporary_files(root)
    }
}
