//! GPUs from Rust, on the simulator: resident results stay on the device, and are arguments of later calls.

use deckle::Backend;
use deckle::prelude::*;
use deckle_diag::Diagnostic;
use deckle_engine::On;

/// A simulated device for each thread, and so for each test.
#[derive(Clone, Copy)]
struct Simulated;

thread_local! {
    static GPU: deckle_engine::Gpu = deckle_engine::Gpu::simulated(deckle_engine::Simulator::default(), None);
}

fn device() -> deckle_engine::Gpu {
    GPU.with(Clone::clone)
}

impl Backend for Simulated {
    fn place(self) -> Result<On, Box<Diagnostic>> {
        Ok(On::Gpu(device()))
    }
}

#[test]
fn one_word_moves_a_program_to_a_gpu() {
    let dot = compile(|xs: Arr<f64>, ys: Arr<f64>| xs.zip_with(ys, |x, y| x * y).sum()).unwrap();
    let (xs, ys) = (vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]);
    assert_eq!(dot.on(Simulated).call(&xs, &ys).unwrap(), 32.0);
    assert_eq!(dot.on(Simulated).call(xs, ys).unwrap(), 32.0);

    let pick = compile(|xs: Arr<i64>, at: Arr<i64>| at.map(|i| xs.at(i))).unwrap();
    let [here, there] = [
        pick.on(Cpu).call([1, 2], [0, 2]).unwrap_err().to_string(),
        pick.on(Simulated).call([1, 2], [0, 2]).unwrap_err().to_string(),
    ];
    assert_eq!(here, there);
}

#[test]
fn what_is_kept_stays_on_the_device() {
    let scale = compile(|a: Exp<f64>, xs: Arr<f64>| xs.map(|x| a * x)).unwrap().on(Simulated);
    let total = compile(|xs: Arr<f64>| xs.sum()).unwrap().on(Simulated);
    let before = device().memory().in_use;
    let mut kept = scale.keep(2.0, vec![1.0; 10_000]).unwrap();
    assert!(device().memory().in_use >= before + 80_000 && kept.bytes() == 80_000);
    assert_eq!(total.call(&kept).unwrap(), 20_000.0);
    for _ in 0..3 {
        kept = scale.keep(2.0, kept).unwrap();
    }
    assert_eq!(total.call(&kept).unwrap(), 160_000.0);
    // On the CPU too: then it is copied.
    assert_eq!(total.on(Cpu).call(&kept).unwrap(), 160_000.0);
    assert_eq!(kept.into_host().unwrap().as_slice()[9_999], 16.0);
    assert_eq!(device().memory().in_use, before);
}

#[test]
fn streams_run_on_a_gpu() {
    let logs = compile(|xs: Seq<i64>| xs.filter(|x| (x % 3).equals(0)).map(|x| x * x)).unwrap();
    let found: Result<Vec<i64>, Error> = logs.on(Simulated).stream(feed(0..1000i64)).collect();
    assert_eq!(found.unwrap(), (0..1000).filter(|x| x % 3 == 0).map(|x| x * x).collect::<Vec<i64>>());
}

#[test]
fn without_a_gpu_the_call_is_an_error() {
    let double = compile(|x: Exp<i64>| x * 2).unwrap();
    match double.on(Gpu).call(21) {
        Ok(y) => assert_eq!(y, 42),
        Err(e) => assert!(e.to_string().contains("D0803") && e.to_string().contains("deckle doctor"), "{e}"),
    }
}
