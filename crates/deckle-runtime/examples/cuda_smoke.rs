//! Runs a kernel, written by hand in PTX, through the driver: devices, modules and their errors, memory, launches, threads.
//!
//! Prints what it finds and `OK`, or the reason why there is nothing to try (also a success), or what is wrong.

#![allow(unsafe_code)] // Launches.

use deckle_runtime::cuda::{Arg, Cuda, CudaError};
use std::process::ExitCode;

/// `y[i] = a * x[i] + y[i]` for `i < n`.
const SAXPY: &str = r"
.version 7.0
.target sm_70
.address_size 64

.visible .entry saxpy(
    .param .u64 n_param,
    .param .f32 a_param,
    .param .u64 x_param,
    .param .u64 y_param
)
{
    .reg .pred %p;
    .reg .f32 %a, %x, %y;
    .reg .b32 %block, %threads, %thread;
    .reg .b64 %n, %i, %t, %offset, %xs, %ys;

    ld.param.u64 %n, [n_param];
    ld.param.f32 %a, [a_param];
    ld.param.u64 %xs, [x_param];
    ld.param.u64 %ys, [y_param];
    cvta.to.global.u64 %xs, %xs;
    cvta.to.global.u64 %ys, %ys;

    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %i, %block, %threads;
    cvt.u64.u32 %t, %thread;
    add.u64 %i, %i, %t;
    setp.ge.u64 %p, %i, %n;
    @%p bra DONE;

    shl.b64 %offset, %i, 2;
    add.u64 %xs, %xs, %offset;
    add.u64 %ys, %ys, %offset;
    ld.global.f32 %x, [%xs];
    ld.global.f32 %y, [%ys];
    fma.rn.f32 %y, %a, %x, %y;
    st.global.f32 [%ys], %y;
DONE:
    ret;
}
";

fn main() -> ExitCode {
    match smoke() {
        Ok(()) => println!("OK"),
        Err(e @ CudaError::Unavailable(_)) => println!("{e}"),
        Err(e) => {
            println!("FAILED: {e}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn expect(holds: bool, what: &str) -> Result<(), CudaError> {
    if holds { Ok(()) } else { Err(CudaError::Invalid(what.to_string())) }
}

fn smoke() -> Result<(), CudaError> {
    let cuda = Cuda::open()?;
    println!("driver for CUDA {:?}", cuda.version()?);
    let devices = cuda.devices()?;
    for device in &devices {
        println!("{device:?} {}", device.sm());
    }
    if devices.is_empty() {
        return Err(CudaError::Unavailable("the driver knows no device".to_string()));
    }
    let context = cuda.context(0)?;
    println!("free and total bytes: {:?}", context.memory()?);

    let bad = context.module(&SAXPY.replace("fma.rn.f32", "fma.rn.f31"));
    let Err(CudaError::Module { message, log }) = bad else {
        return Err(CudaError::Invalid("wrong PTX was accepted".to_string()));
    };
    println!("wrong PTX is refused: {message}: {log}");
    expect(!log.is_empty(), "wrong PTX has no log")?;

    let saxpy = context.module(SAXPY)?.function("saxpy")?;
    expect(context.module(SAXPY)?.function("no_such").is_err(), "a function that is not there was found")?;
    expect(context.alloc(usize::MAX / 2).is_err(), "too much memory was given")?;
    expect(context.alloc(8)?.copy_in(4, &[1u64]).is_err(), "a copy past the end was done")?;

    for n in [0usize, 1, 1000, 10_000_000] {
        let xs: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let ys = vec![0.5f32; n];
        let (x, y) = (context.alloc_from(&xs)?, context.alloc_from(&ys)?);
        let args = [Arg::U64(n as u64), Arg::F32(2.0), Arg::Buffer(&x), Arg::Buffer(&y)];
        // SAFETY: the kernel's parameters; it writes to the first n elements of y.
        unsafe { saxpy.launch([n.div_ceil(256) as u32, 1, 1], [256, 1, 1], 0, &args)? };
        let mut result = vec![0f32; n];
        y.copy_out(0, &mut result)?;
        let wrong = result.iter().zip(&xs).position(|(r, x)| *r != 2.0f32.mul_add(*x, 0.5));
        expect(wrong.is_none(), &format!("saxpy of {n} elements is wrong at {wrong:?}"))?;
    }

    // From another thread, which has no current context of its own.
    let elsewhere = context.clone();
    let filled = std::thread::spawn(move || {
        let mut b = elsewhere.alloc(1000)?;
        b.fill(7)?;
        elsewhere.synchronize()?;
        let mut bytes = vec![0u8; 1000];
        b.copy_out(0, &mut bytes)?;
        Ok::<bool, CudaError>(bytes.iter().all(|&b| b == 7))
    });
    let filled = filled.join().unwrap_or_else(|_| Err(CudaError::Invalid("the thread panicked".to_string())))?;
    expect(filled, "memory filled on another thread is wrong")?;

    // A thousand threads too many for a block: an error of the launch, and the context goes on.
    // SAFETY: never runs.
    let refused =
        unsafe { saxpy.launch([1, 1, 1], [4096, 1, 1], 0, &[Arg::U64(0), Arg::F32(0.0), Arg::U64(0), Arg::U64(0)]) };
    println!("a block too large is refused: {}", refused.err().map_or("no".to_string(), |e| e.to_string()));
    context.synchronize()
}
