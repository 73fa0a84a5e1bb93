//! Sequences that come from outside and go there, while a program runs.

use crate::Settings;
use crate::native::data::none_of;
use crate::native::device::Device;
use crate::native::early::{self, Early};
use crate::native::fault::Failure;
use crate::native::gpu::Kept;
use crate::native::plan::Plan;
use crate::native::run::Memory;
use deckle_io::tree;
use deckle_ir::kernel::{Rep, Rows};
use deckle_ir::types::Type;
use deckle_runtime::stream::{Ahead, Behind, Error as StreamError, Sink, Source};
use deckle_runtime::{Data, Pool};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// An argument.
pub enum Input {
    /// That is there, and given away: the program may compute its result in this memory, if nobody else has a handle of it.
    Data(Data),
    /// That is there, and kept by the caller: the program only reads it.
    Lent(Data),
    /// A result that an earlier call left where it was computed. It is not copied if this call runs on the same device.
    Kept(Kept, Hold),
    /// A sequence that comes bit by bit. Where a program cannot go through it in chunks, it is read as a whole before the run. What is neither a
    /// sequence nor a vector is the only element that comes.
    Stream(Box<dyn Source>),
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Data(data) => f.debug_tuple("Data").field(data).finish(),
            Input::Lent(data) => f.debug_tuple("Lent").field(data).finish(),
            Input::Kept(kept, hold) => f.debug_tuple("Kept").field(kept).field(hold).finish(),
            Input::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// Who owns an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The program may compute its result in this memory, if nobody else has a handle of it.
    Given,
    /// The program only reads it.
    Lent,
}

impl Input {
    /// Another handle of an argument, unless it is a stream.
    pub(crate) fn handle(&self) -> Option<Input> {
        match self {
            Input::Data(data) => Some(Input::Data(data.clone())),
            Input::Lent(data) => Some(Input::Lent(data.clone())),
            Input::Kept(kept, hold) => Some(Input::Kept(kept.clone(), *hold)),
            Input::Stream(_) => None,
        }
    }

    /// The argument on this machine, copied from a device if it is there.
    pub(crate) fn fetched(self, settings: &Settings) -> Result<Input, Failure> {
        match self {
            Input::Kept(kept, hold) => {
                let data = kept.fetched(settings)?;
                Ok(if hold == Hold::Lent { Input::Lent(data) } else { Input::Data(data) })
            }
            other => Ok(other),
        }
    }
}

/// What takes a result.
#[derive(Debug)]
enum Out {
    Kept(Vec<Data>),
    To(Behind),
}

impl Out {
    fn take(&mut self, block: Data, settings: &Settings) -> Result<(), Failure> {
        settings.progress.pushed.fetch_add(block.len() as u64, Relaxed);
        match self {
            Out::To(behind) => behind.push(block, settings.team.interrupt())?,
            Out::Kept(blocks) if !block.is_empty() => blocks.push(block),
            Out::Kept(_) => {}
        }
        Ok(())
    }
}

/// What a traversal that can be repeated has taken from outside, and given to it ([`again`](crate::native::again)).
#[derive(Debug, Default)]
struct Held {
    /// The results of the current round, by number of the push: they are delivered when the round is done.
    given: Vec<(u32, Data)>,
    /// What was pulled since the checkpoint, and for which parameter, if there is one.
    pulled: Option<Vec<(usize, Data)>>,
    /// For each push.
    counts: Vec<Counts>,
}

/// Elements of a result.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// How many the rounds since the checkpoint gave.
    made: usize,
    /// How many repeated rounds had delivered before they failed.
    handed: usize,
}

/// The last pull that may return fewer elements than it asks for: pulls of sequences in lockstep with it ask for as many as it returned.
#[derive(Clone, Copy, Debug, Default)]
struct Lead {
    /// The elements that it returned.
    pulled: usize,
    /// The elements of the block that is copied early for the next one.
    early: usize,
}

/// The sequences of a run.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    /// Of each parameter, as far as there is one of which something comes.
    ins: Vec<Option<Ahead>>,
    /// For each of them, the next block, if it is copied early.
    early: Vec<Option<Early>>,
    lead: Lead,
    outs: Vec<Out>,
    held: Option<Held>,
}

impl Outside {
    /// Nothing comes, and what goes is kept; but for the only result, if there is someone to take it.
    pub(crate) fn new(plan: &Plan, sink: Option<Box<dyn Sink>>) -> Result<Outside, Failure> {
        let count = plan.pushes.iter().map(|k| k + 1).max().unwrap_or(0);
        let mut outs: Vec<Out> = (0..count).map(|_| Out::Kept(Vec::new())).collect();
        if let (Some(sink), Some(out)) = (sink, outs.first_mut()) {
            *out = Out::To(Behind::new(sink)?);
        }
        Ok(Outside { outs, ..Outside::default() })
    }

    /// Where a parameter's elements come from.
    pub(crate) fn comes(&mut self, param: usize, ahead: Ahead, settings: &Settings) {
        if let Ok(mut all) = settings.progress.sources.lock() {
            all.retain(|seen| seen.strong_count() > 0);
            all.push(Arc::downgrade(&ahead.seen()));
        }
        if self.ins.len() <= param {
            self.ins.resize_with(param + 1, || None);
            self.early.resize_with(param + 1, || None);
        }
        self.ins[param] = Some(ahead);
    }

    /// An error that stands behind what was pulled so far.
    pub(crate) fn failure(&mut self) -> Option<Failure> {
        let ins = self.ins.iter_mut().zip(&self.early).filter(|(_, early)| early.is_none());
        ins.filter_map(|(ahead, _)| ahead.as_mut()).find_map(Ahead::failure).map(Failure::from)
    }

    /// The bytes of blocks that are copied early.
    pub(crate) fn early_bytes(&self) -> u64 {
        self.early.iter().flatten().map(|early| early.block.bytes() as u64).sum()
    }

    /// Gives back what is copied early.
    pub(crate) fn give_back_early(&mut self) {
        for (early, ahead) in self.early.iter_mut().zip(&mut self.ins) {
            if let (Some(early), Some(ahead)) = (early.take(), ahead) {
                ahead.give_back(early.block);
            }
        }
    }

    /// Whether a sink takes the results while the program runs.
    pub(crate) fn has_sink(&self) -> bool {
        matches!(self.outs[..], [Out::To(_)])
    }

    /// The results of a traversal that begins are held back until their round is done, so that the round can be repeated.
    pub(crate) fn hold_back(&mut self) {
        self.held = Some(Held { counts: vec![Counts::default(); self.outs.len()], ..Held::default() });
    }

    /// The traversal has ended.
    pub(crate) fn release(&mut self) {
        self.give_back_early();
        self.held = None;
    }

    /// From now on what is pulled can be given back, or not.
    pub(crate) fn mark(&mut self, is_checkpoint: bool) {
        if let Some(held) = &mut self.held {
            held.pulled = is_checkpoint.then(Vec::new);
            held.counts.iter_mut().for_each(|c| *c = Counts { made: 0, handed: c.handed.saturating_sub(c.made) });
        }
    }

    /// Goes back to the checkpoint.
    pub(crate) fn rewind(&mut self, settings: &Settings) {
        self.give_back_early();
        let Some(held) = &mut self.held else { return };
        held.given.clear();
        held.counts.iter_mut().for_each(|c| *c = Counts { made: 0, handed: c.handed.max(c.made) });
        for (param, block) in held.pulled.iter_mut().flat_map(std::mem::take).rev() {
            settings.progress.pulled.fetch_sub(block.len() as u64, Relaxed);
            if let Some(Some(ahead)) = self.ins.get_mut(param) {
                ahead.give_back(block);
            }
        }
    }

    /// Hands over what a round gave, but for what an earlier try has handed over.
    pub(crate) fn commit(&mut self, settings: &Settings) -> Result<(), Failure> {
        let Some(held) = &mut self.held else { return Ok(()) };
        for (to, block) in std::mem::take(&mut held.given) {
            let unknown = || Failure::bug("a result without a consumer");
            let counts = held.counts.get_mut(to as usize).ok_or_else(unknown)?;
            let (n, twice) = (block.len(), counts.handed.saturating_sub(counts.made));
            counts.made += n;
            if twice > 0 && twice >= n {
                continue;
            }
            let block = if twice > 0 { block.slice(twice, n, &settings.pool)? } else { block };
            self.outs.get_mut(to as usize).ok_or_else(unknown)?.take(block, settings)?;
        }
        Ok(())
    }

    /// Everything was handed over: waits until it was taken.
    pub(crate) fn finish(mut self, plan: &Plan, settings: &Settings) -> Result<Vec<Option<Data>>, Failure> {
        // A source behind whose elements an error stands has not come to its end.
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let mut results = Vec::new();
        for (k, out) in self.outs.into_iter().enumerate() {
            results.push(match out {
                Out::To(behind) => {
                    behind.finish()?;
                    None
                }
                Out::Kept(blocks) if blocks.is_empty() => {
                    let ty = plan.pushed_type(k as u32).and_then(Type::elem).cloned().unwrap_or(Type::BOOL);
                    Some(none_of(&ty, &settings.pool)?)
                }
                Out::Kept(blocks) => Some(Data::join(&blocks, &settings.pool)?),
            });
        }
        Ok(results)
    }
}

/// How many elements are asked for, and whether all of them.
#[derive(Clone, Copy)]
pub(crate) struct Much {
    pub count: i64,
    pub all: bool,
    /// Whether the next elements may be copied to the device early.
    pub early: bool,
}

impl<D: Device> Memory<'_, D> {
    /// Fills a representation with the next elements of a parameter: how many there are, and how many bytes they have.
    pub(crate) fn pull(
        &mut self,
        outside: &mut Outside,
        plan: &Plan,
        param: usize,
        much: Much,
        rep: &Rep,
    ) -> Result<(usize, usize), Failure> {
        let (name, ty) = (&plan.param_names[param], &plan.param_types[param]);
        let count = usize::try_from(much.count).unwrap_or(0);
        let ahead =
            outside.ins.get_mut(param).and_then(Option::as_mut).ok_or_else(|| Failure::Argument(name.clone()))?;
        let settings = self.settings;
        let (pool, interrupt) = (&settings.pool, settings.team.interrupt());
        let early = match outside.early[param].take() {
            Some(early) if early.is_for(count, much.all) => {
                let block = early.block.clone();
                // The round may be repeated.
                Some(early.arrived(rep).inspect_err(|_| ahead.give_back(block))?)
            }
            Some(early) => {
                ahead.give_back(early.block);
                None
            }
            None => None,
        };
        let (block, kept) = match early {
            Some(arrived) => arrived,
            None => {
                let block = match if much.all {
                    ahead.pull(count, pool, interrupt)
                } else {
                    ahead.pull_some(count, pool, interrupt)
                }? {
                    Some(block) => block,
                    None => none_of(ty.elem().unwrap_or(ty), &settings.pool)?,
                };
                (block.clone(), Data::array(block).into())
            }
        };
        settings.progress.pulled.fetch_add(block.len() as u64, Relaxed);
        let size = (block.len(), block.bytes());
        if let Some(pulled) = outside.held.as_mut().and_then(|h| h.pulled.as_mut())
            && !block.is_empty()
        {
            pulled.push((param, block));
        }
        self.take(rep, kept, name)?;
        if !much.all {
            outside.lead = Lead { pulled: size.0, early: 0 };
        }
        if much.early && size.1 >= plan.cuts.copied_early {
            self.bring_early(outside, param, much, rep, name)?;
        }
        Ok(size)
    }

    /// Starts to copy the elements that the next pull of a parameter will probably want.
    fn bring_early(
        &mut self,
        outside: &mut Outside,
        param: usize,
        much: Much,
        rep: &Rep,
        name: &str,
    ) -> Result<(), Failure> {
        let Some(ahead) = outside.ins[param].as_mut() else { return Ok(()) };
        let count = usize::try_from(much.count).unwrap_or(0);
        // As many as the sequence that it follows in lockstep.
        let count = if much.all && outside.lead.pulled == count { outside.lead.early } else { count };
        // If memory is short the elements are pulled when they are needed, and that reports it.
        let Ok(Some(block)) = ahead.pull_ready(count, much.all, &self.settings.pool, self.settings.team.interrupt())
        else {
            return Ok(());
        };
        let has_room = self.device.room().is_none_or(|room| room / 2 >= block.bytes() as u64);
        let coming = if has_room { self.device.bring_early(early::arrays(rep, &block), name) } else { Ok(None) };
        if let Ok(Some(coming)) = coming {
            if !much.all {
                outside.lead.early = block.len();
            }
            outside.early[param] = Some(Early { block, coming });
            return Ok(());
        }
        ahead.give_back(block);
        coming.map(drop)
    }

    /// Hands what is in a representation over.
    pub(crate) fn push(&mut self, outside: &mut Outside, to: u32, rep: &Rep) -> Result<(), Failure> {
        let Rep::Array(Rows::Equal(n), elem) = rep else { return Err(Failure::bug("a result that is no vector")) };
        let n = usize::try_from(self.host().int(*n)?).unwrap_or(0);
        let block = self.give(elem, 0, n)?;
        if let Some(held) = &mut outside.held {
            held.given.push((to, block));
            return Ok(());
        }
        let out = outside.outs.get_mut(to as usize);
        out.ok_or_else(|| Failure::bug("a result without a consumer"))?.take(block, self.settings)
    }
}

/// A sequence from outside as a whole, or the only element; at least so many bytes are read at once.
pub(crate) fn collected(
    mut source: Box<dyn Source>,
    ty: &Type,
    least: usize,
    settings: &Settings,
) -> Result<Data, Failure> {
    let (pool, mut blocks) = (&settings.pool, Vec::new());
    // All of a file at once: then nothing is copied.
    while let Some(block) = source.next(source.progress().map_or(least, |(_, all)| least.max(all as usize)), pool)? {
        if settings.team.interrupt().load(Relaxed) {
            return Err(Failure::Interrupted);
        }
        blocks.push(block);
    }
    if ty.elem().is_none() {
        let [block] = &blocks[..] else { return Err(Failure::bug("an argument that does not come once")) };
        return Ok(block.clone());
    }
    if blocks.is_empty() {
        return Ok(Data::array(none_of(ty.elem().unwrap_or(ty), pool)?));
    }
    Ok(Data::array(Data::join(&blocks, pool)?))
}

/// A source whose blocks are held against the type of its elements.
struct Validated {
    source: Box<dyn Source>,
    elem: Type,
    name: String,
}

/// A source of elements of a sequence, validated.
pub(crate) fn validated(source: Box<dyn Source>, ty: &Type, name: &str) -> Box<dyn Source> {
    Box::new(Validated { source, elem: ty.elem().unwrap_or(ty).clone(), name: name.to_string() })
}

impl Source for Validated {
    fn next(&mut self, bytes: usize, pool: &Pool) -> Result<Option<Data>, StreamError> {
        let block = self.source.next(bytes, pool)?;
        match &block {
            Some(b) if !tree::fits(&self.elem, b) => {
                let message = format!("what comes for `{}` is no block of elements of its type", self.name);
                Err(StreamError::Failed(message.into()))
            }
            _ => Ok(block),
        }
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }
}

/// The elements of an argument that is a sequence; `None` if it is none.
pub(crate) fn elements(data: Data, ty: &Type) -> Option<Data> {
    if tree::fits(ty, &data) { data.into_elements() } else { None }
}
