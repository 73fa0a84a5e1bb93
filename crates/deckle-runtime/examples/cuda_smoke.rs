//! Runs a kernel, written by hand in PTX, through the driver: devices, modules and their errors, memory, launches, threads.
//!
//! Prints what it finds and `OK`, or the reason why there is nothing to try (also a success), or what is wrong.

#![allow(unsafe_code)] // Launches.

use deckle_runtime::cuda::{Arg, Context, Cuda, CudaError, DeviceBuffer, Module, Stream};
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

/// Compiles PTX to a binary, and loads that.
fn module(context: &Context, ptx: &str) -> Result<Module, CudaError> {
    // SAFETY: the driver has just made the binary.
    unsafe { context.module(&context.binary(ptx)?) }
}

/// Waits for everything that was enqueued.
fn wait(stream: &Stream) -> Result<(), CudaError> {
    let end = stream.record()?;
    while !end.is_past()? {
        std::thread::yield_now();
    }
    Ok(())
}

fn upload(context: &Context, stream: &Stream, xs: &[f32]) -> Result<DeviceBuffer, CudaError> {
    let bytes: Vec<u8> = xs.iter().flat_map(|x| x.to_le_bytes()).collect();
    let (to, mut from) = (context.alloc(bytes.len())?, context.pinned(bytes.len())?);
    from.bytes_mut().copy_from_slice(&bytes);
    // SAFETY: the memory is kept until the copy is done.
    unsafe { stream.copy_in(&to, 0, (&from, 0), bytes.len())? };
    wait(stream)?;
    Ok(to)
}

fn download(context: &Context, stream: &Stream, from: &DeviceBuffer) -> Result<Vec<f32>, CudaError> {
    let mut to = context.pinned(from.len())?;
    // SAFETY: the memory is not looked at until the copy is done.
    unsafe { stream.copy_out(from, 0, (&mut to, 0), from.len())? };
    wait(stream)?;
    Ok(to.bytes().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

fn smoke() -> Result<(), CudaError> {
    let cuda = Cuda::open()?;
    println!("driver for CUDA {:?}", cuda.version()?);
    let devices = cuda.devices()?;
    for device in &devices {
        println!("{device:?} {}", device.sm());
    }
    let context = cuda.context(0)?;
    println!("free and total bytes: {:?}", context.memory()?);

    let bad = context.binary(&SAXPY.replace("fma.rn.f32", "fma.rn.f31"));
    let Err(CudaError::Module { message, log }) = bad else {
        return Err(CudaError::Invalid("wrong PTX was accepted".to_string()));
    };
    println!("wrong PTX is refused: {message}: {log}");
    expect(!log.is_empty(), "wrong PTX has no log")?;

    let (module, stream) = (module(&context, SAXPY)?, context.stream()?);
    let saxpy = module.function("saxpy")?;
    expect(module.function("no_such").is_err(), "a function that is not there was found")?;
    expect(context.alloc(usize::MAX / 2).is_err(), "too much memory was given")?;
    expect(stream.fill(&context.alloc(8)?, 9, 0).is_err(), "bytes past the end were set")?;

    for n in [0usize, 1, 1000, 10_000_000] {
        let xs: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let ys = vec![0.5f32; n];
        let (x, y) = (upload(&context, &stream, &xs)?, upload(&context, &stream, &ys)?);
        let args = [Arg::U64(n as u64), Arg::F32(2.0), Arg::Buffer(&x), Arg::Buffer(&y)];
        // SAFETY: the kernel's parameters; it writes to the first n elements of y.
        unsafe { saxpy.launch(&stream, [n.div_ceil(256) as u32, 1, 1], [256, 1, 1], 0, &args)? };
        let result = download(&context, &stream, &y)?;
        let wrong = result.iter().zip(&xs).position(|(r, x)| *r != 2.0f32.mul_add(*x, 0.5));
        expect(wrong.is_none(), &format!("saxpy of {n} elements is wrong at {wrong:?}"))?;
    }

    // From another thread, which has no current context of its own.
    let elsewhere = context.clone();
    let filled = std::thread::spawn(move || {
        let (b, stream) = (elsewhere.alloc(1000)?, elsewhere.stream()?);
        stream.fill(&b, 1000, 7)?;
        let sevens = f32::from_le_bytes([7; 4]);
        Ok::<bool, CudaError>(download(&elsewhere, &stream, &b)? == [sevens; 250])
    });
    let filled = filled.join().unwrap_or_else(|_| Err(CudaError::Invalid("the thread panicked".to_string())))?;
    expect(filled, "memory filled on another thread is wrong")?;

    // A thousand threads too many for a block: an error of the launch, and the context goes on.
    // SAFETY: never runs.
    let refused = unsafe {
        saxpy.launch(&stream, [1, 1, 1], [4096, 1, 1], 0, &[Arg::U64(0), Arg::F32(0.0), Arg::U64(0), Arg::U64(0)])
    };
    println!("a block too large is refused: {}", refused.err().map_or("no".to_string(), |e| e.to_string()));
    wait(&stream)
}
