//! Code that this process has already linked, by key.
//!
//! Threads that request the same code concurrently wait for the first to compile it. Entries are stored, up to [`LIMIT`] bytes of objects; the least recently used are
//! evicted first, and their memory is freed when the last user drops them.

use crate::code::Code;
use crate::key::Key;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The maximal size of objects whose code is stored without a user.
const LIMIT: usize = 64 << 20;

/// Linked code by key.
#[derive(Default)]
pub(crate) struct MemoryCache {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    slots: HashMap<Key, Entry>,
    clock: u64,
}

struct Entry {
    slot: Arc<Slot>,
    used: u64,
    bytes: usize,
}

/// Empty until a thread has created the code; locked while one does.
type Slot = Mutex<Option<Arc<Code>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data behind these locks is always consistent, so a thread that panicked while holding one did no harm.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryCache {
    /// The code of a key and the information that `make` returned about it; created if it is missing. The second part is None if it was present.
    pub(crate) fn get_or_make<T, E>(
        &self,
        key: Key,
        make: impl FnOnce() -> Result<(Arc<Code>, T), E>,
    ) -> Result<(Arc<Code>, Option<T>), E> {
        let slot = self.slot(key);
        let mut code = lock(&slot);
        if let Some(code) = &*code {
            return Ok((code.clone(), None));
        }
        let (made, told) = make()?;
        *code = Some(made.clone());
        drop(code);
        self.keep(key, made.object_bytes());
        Ok((made, Some(told)))
    }

    /// Removes all entries that no thread is creating.
    pub(crate) fn clear(&self) {
        lock(&self.state).slots.clear();
    }

    fn slot(&self, key: Key) -> Arc<Slot> {
        let mut state = lock(&self.state);
        state.clock += 1;
        let used = state.clock;
        let entry = state.slots.entry(key).or_insert_with(|| Entry { slot: Arc::default(), used, bytes: 0 });
        entry.used = used;
        entry.slot.clone()
    }

    /// Records the size of an entry and removes others until the limit holds.
    fn keep(&self, key: Key, bytes: usize) {
        let mut state = lock(&self.state);
        if let Some(entry) = state.slots.get_mut(&key) {
            entry.bytes = bytes;
        }
        let mut total: usize = state.slots.values().map(|e| e.bytes).sum();
        while total > LIMIT {
            let others = state.slots.iter().filter(|(k, e)| **k != key && e.bytes > 0);
            let Some((&oldest, _)) = others.min_by_key(|(_, e)| e.used) else { break };
            total -= state.slots.remove(&oldest).map_or(0, |e| e.bytes);
        }
    }
}
