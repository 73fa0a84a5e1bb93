//! From the array IR to loops, one folder for each step of the way:
//!
//! 1. [`simplify`](mod@simplify) makes a program smaller without changing what it means;
//! 2. [`chunk`](mod@chunk) makes loops over chunks of its sequences;
//! 3. [`flatten`](mod@flatten) makes kernels of it, and what the host does around them;
//! 4. [`reuse`](mod@reuse) says where their memory comes from, and when it is let go of;
//! 5. `choose` says how the loops of a kernel run, from the `facts` about it;
//! 6. [`lower`](mod@lower) follows that, and makes the loops.
//!
//! [`pipeline`] lists these passes and runs them. [`cuts`] are the sizes at which work is divided, and [`kernels`] describes the kernels of a program in words.

mod choose;
pub mod chunk;
pub mod cuts;
mod facts;
pub mod flatten;
pub mod kernels;
pub mod lower;
pub mod pipeline;
pub mod reuse;
pub mod simplify;
