//! Writing behind.

use super::{Error, QUEUE, Sink};
use crate::data::Data;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a thread that waits for room in the queue sleeps before it checks for an interrupt again.
const LOOK: Duration = Duration::from_micros(200);

/// Messages to the other thread.
enum Order {
    Take(Data),
    Finish,
}

/// A sink that writes behind the program.
#[derive(Debug)]
pub struct Behind {
    queue: Option<SyncSender<Order>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Behind {
    /// Starts the sink.
    ///
    /// # Errors
    /// The thread could not be started.
    pub fn new(sink: Box<dyn Sink>) -> Result<Behind, Error> {
        let (queue, from) = sync_channel(QUEUE);
        let writer = std::thread::Builder::new().name("deckle-behind".into());
        let thread = writer.spawn(move || write(sink, &from)).map_err(|e| Error::Failed(Box::new(e)))?;
        Ok(Behind { queue: Some(queue), thread: Some(thread) })
    }

    /// Delivers elements.
    ///
    /// # Errors
    /// The error of the sink on earlier elements, or the run was interrupted.
    pub fn push(&mut self, block: Data, interrupt: &AtomicBool) -> Result<(), Error> {
        let mut order = Order::Take(block);
        while let Some(queue) = &self.queue {
            match queue.try_send(order) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(back)) => {
                    if interrupt.load(Relaxed) {
                        return Err(Error::Interrupted);
                    }
                    order = back;
                    std::thread::sleep(LOOK);
                }
                Err(TrySendError::Disconnected(_)) => break,
            }
        }
        self.queue = None;
        Err(self.join().err().unwrap_or(Error::Closed))
    }

    /// Waits until all elements are taken.
    ///
    /// # Errors
    /// The error of the sink.
    pub fn finish(mut self) -> Result<(), Error> {
        if let Some(queue) = self.queue.take() {
            // If the receiver is gone, the thread's result holds the reason.
            let _ = queue.send(Order::Finish);
        }
        self.join()
    }

    fn join(&mut self) -> Result<(), Error> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(Error::Failed("the thread that writes has failed".into())),
            None => Err(Error::Closed),
        }
    }
}

/// Elements delivered earlier are still taken, although the result is incomplete.
impl Drop for Behind {
    fn drop(&mut self) {
        self.queue = None;
        let _ = self.join();
    }
}

fn write(mut sink: Box<dyn Sink>, from: &Receiver<Order>) -> Result<(), Error> {
    while let Ok(order) = from.recv() {
        match order {
            Order::Take(block) => sink.take(block)?,
            Order::Finish => return sink.finish(),
        }
    }
    // The program has failed: the sink is dropped.
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>, usize);

    impl Sink for Log {
        fn take(&mut self, block: Data) -> Result<(), Error> {
            let mut log = self.0.lock().unwrap();
            if log.len() == self.1 {
                return Err(Error::Failed("full".into()));
            }
            log.push(block.len().to_string());
            Ok(())
        }

        fn finish(self: Box<Self>) -> Result<(), Error> {
            self.0.lock().unwrap().push("end".into());
            Ok(())
        }
    }

    fn block(len: usize) -> Data {
        Data::numbers(vec![0u8; len])
    }

    #[test]
    fn everything_is_taken_in_order() {
        let log = Log(Arc::default(), 100);
        let mut behind = Behind::new(Box::new(log.clone())).unwrap();
        (0..20).for_each(|n| behind.push(block(n), &AtomicBool::new(false)).unwrap());
        behind.finish().unwrap();
        let mut wanted: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        wanted.push("end".into());
        assert_eq!(*log.0.lock().unwrap(), wanted);
    }

    #[test]
    fn what_a_sink_says_reaches_whoever_pushes() {
        let mut behind = Behind::new(Box::new(Log(Arc::default(), 3))).unwrap();
        let said = (0..100).find_map(|n| behind.push(block(n), &AtomicBool::new(false)).err());
        assert_eq!(said.unwrap().to_string(), "full");
        let mut behind = Behind::new(Box::new(Log(Arc::default(), 0))).unwrap();
        behind.push(block(1), &AtomicBool::new(false)).unwrap();
        assert_eq!(behind.finish().unwrap_err().to_string(), "full");
    }

    #[test]
    fn a_program_that_fails_finishes_nothing() {
        let log = Log(Arc::default(), 100);
        let mut behind = Behind::new(Box::new(log.clone())).unwrap();
        behind.push(block(1), &AtomicBool::new(false)).unwrap();
        drop(behind);
        assert_eq!(*log.0.lock().unwrap(), ["1"]);
    }
}
