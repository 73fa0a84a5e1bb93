//! Who has used which element: how races are found.
//!
//! Two uses of an element by different threads are a race if one of them stores, unless both are atomic, both store the same value with [`StoreHint::Shared`](deckle_ir::loops::StoreHint), or a barrier
//! of the block or warp that both threads belong to lies between them. Nothing orders the blocks of a launch. What is found does not depend on the order in which the simulator runs threads, except that
//! stores of the same value are compared with what is in memory.

use deckle_ir::loops::WARP;

/// A thread, and how many barriers of its block and of its warp it has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who {
    pub block: u64,
    pub thread: u32,
    pub barriers: u32,
    pub syncs: u32,
}

impl Who {
    /// Whether what this thread did comes before what another one does now.
    fn is_before(self, now: Who) -> bool {
        let synced = self.is_in_warp(now) && self.syncs < now.syncs;
        self.block == now.block && (self.thread == now.thread || self.barriers < now.barriers || synced)
    }

    fn is_in_warp(self, other: Who) -> bool {
        self.thread / WARP == other.thread / WARP
    }
}

/// What is done with an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Load,
    /// These bits; whether other threads may store the same meanwhile.
    Store(u64, bool),
    /// The new bits are computed from the old.
    Atomic,
}

/// The threads that have used an element in one way, as far as it matters to later uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Users {
    None,
    One(Who),
    /// Several threads of the block of this one, which is the last of them, since its last barrier.
    Several(Who),
    /// The same of its warp.
    InWarp(Who),
    /// Threads of several blocks.
    Blocks,
}

impl Users {
    /// Whether everything that these threads did comes before what a thread does now.
    fn are_before(self, now: Who) -> bool {
        match self {
            Users::None => true,
            Users::One(w) => w.is_before(now),
            Users::InWarp(w) => w.is_before(now) && (w.barriers < now.barriers || w.syncs < now.syncs),
            Users::Several(w) => w.block == now.block && w.barriers < now.barriers,
            Users::Blocks => false,
        }
    }

    /// These threads and one more. Threads before a barrier are forgotten: those of other blocks conflict with the newer ones just as well.
    fn and(self, now: Who) -> Users {
        match self {
            Users::Blocks => Users::Blocks,
            Users::One(w) | Users::InWarp(w) | Users::Several(w) if w.block != now.block => Users::Blocks,
            _ if self.are_before(now) => Users::One(now),
            Users::One(w) | Users::InWarp(w) if w.is_in_warp(now) => Users::InWarp(now),
            _ => Users::Several(now),
        }
    }
}

/// How an element has been used since the launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touched {
    loads: Users,
    stores: Users,
    /// Stores of one value by threads that may all do so.
    shared: Users,
    atomics: Users,
}

impl Touched {
    pub(super) const NEVER: Touched =
        Touched { loads: Users::None, stores: Users::None, shared: Users::None, atomics: Users::None };

    /// Notes a use. Returns whether it is a race; `news` is whether a store changes the element.
    pub(super) fn by(&mut self, now: Who, how: Use, news: bool) -> bool {
        // The value is there already: no thread can tell who stored it.
        if !news && matches!(how, Use::Store(_, true)) {
            return false;
        }
        let Touched { loads, stores, shared, atomics } = *self;
        let (against, mine): (&[Users], &mut Users) = match how {
            Use::Load => (&[stores, shared, atomics], &mut self.loads),
            Use::Store(_, true) => (&[loads, stores, shared, atomics], &mut self.shared),
            Use::Store(_, false) => (&[loads, stores, shared, atomics], &mut self.stores),
            Use::Atomic => (&[loads, stores, shared], &mut self.atomics),
        };
        *mine = mine.and(now);
        !against.iter().all(|users| users.are_before(now))
    }
}
