//! `--progress`, and the progress of a run.

use deckle_engine::Progress;
use deckle_runtime::Pool;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The interval at which the bar is drawn.
const OFTEN: Duration = Duration::from_millis(100);

/// How much of the files has been read, and their total size.
fn read(progress: &Progress) -> Option<(u64, u64)> {
    let sources = progress.sources.lock().ok()?;
    let parts: Vec<(u64, u64)> = sources.iter().filter_map(Weak::upgrade).filter_map(|s| s.progress()).collect();
    (!parts.is_empty()).then(|| parts.iter().fold((0, 0), |(a, b), (c, d)| (a + c, b + d)))
}

/// The progress of a run, in words; empty if it has not started any sequence.
pub fn far(progress: &Progress) -> Option<String> {
    let chunks = progress.chunks.load(Relaxed);
    if chunks == 0 && progress.pulled.load(Relaxed) == 0 {
        return None;
    }
    let elements = match progress.pulled.load(Relaxed) {
        0 => progress.elements.load(Relaxed),
        pulled => pulled,
    };
    let mut said = format!("{} elements in {} chunks", HumanCount(elements), HumanCount(chunks));
    if let Some((done, all)) = read(progress) {
        said += &format!(", {} of {} read", HumanBytes(done), HumanBytes(all));
    }
    match progress.pushed.load(Relaxed) {
        0 => {}
        pushed => said += &format!(", {} elements of the result made", HumanCount(pushed)),
    }
    Some(said)
}

/// A bar on standard error, until it is dropped.
pub struct Shown {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Shown {
    /// Starts to show the progress of a run.
    pub fn new(progress: &Arc<Progress>, pool: &Pool) -> Shown {
        let (stop, stopped) = channel();
        let (progress, pool) = (progress.clone(), pool.clone());
        let draw = move || {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let begun = Instant::now();
            loop {
                let over = !matches!(stopped.recv_timeout(OFTEN), Err(RecvTimeoutError::Timeout));
                draw(&bar, &progress, &pool, begun);
                if over {
                    bar.finish();
                    return;
                }
            }
        };
        // Without a thread there is no bar: the run has priority.
        let thread = std::thread::Builder::new().name("deckle-progress".into()).spawn(draw).ok();
        Shown { stop: Some(stop), thread }
    }
}

fn draw(bar: &ProgressBar, progress: &Progress, pool: &Pool, begun: Instant) {
    let elements = progress.elements.load(Relaxed);
    let rate = elements as f64 / begun.elapsed().as_secs_f64().max(1e-9);
    let message = format!(
        "{} elements, {}/s, chunks of {}, {}",
        HumanCount(elements),
        HumanCount(rate as u64),
        HumanCount(progress.chunk.load(Relaxed).max(1)),
        HumanBytes(pool.stats().current)
    );
    let known = read(progress);
    let form = match known {
        Some(_) => "{elapsed:>4} [{bar:30}] {bytes}/{total_bytes} {msg}",
        None => "{elapsed:>4} {spinner} {msg}",
    };
    if let Ok(style) = ProgressStyle::with_template(form) {
        bar.set_style(style.progress_chars("=> "));
    }
    if let Some((done, all)) = known {
        bar.set_length(all);
        bar.set_position(done);
    } else {
        bar.tick();
    }
    bar.set_message(message);
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
