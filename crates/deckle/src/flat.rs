//! Host values in flat memory, and back: the conversion of arguments and results.
//!
//! Scalars have the layout of the host: a `Vec` of them is moved, a slice is lent, and nothing is copied. Tuples and structs are split into a column for each
//! component, rows into their elements and offsets, in one pass.
//!
//! ```text
//! Vec<f32>                    Scalars                              moved
//! &[f32]                      Scalars                              lent
//! Vec<Body { x, mass }>       Tuple [Scalars, Scalars]             a column each
//! Vec<Vec<f32>>               Offsets [0 2 5] of Scalars           elements one after another
//! ```

mod fixed;

use crate::arr::Rank;
use crate::elt::Elt;
use crate::host::Array;
use deckle_ir::scalar::ScalarType;
use deckle_runtime::{Buffer, Data, Form, Lender, Number, OverBudget, Pool};
use std::marker::PhantomData;

/// The pool that counts the memory of converted values: none, if it is the caller's.
pub type Counts<'p> = Option<&'p Pool>;

const WHAT: &str = "elements of a stream";

/// The number of elements that are split at a time: they are read once and stay in the cache for all of their components.
const AT_ONCE: usize = 1024;

/// Elements of one type, a column for each scalar in them: the trait of `Elt::Columns`.
pub trait Columns<T: Elt>: Default + Send + 'static {
    /// Appends the elements that `get` returns for items.
    fn extend_with<S>(&mut self, items: &[S], get: impl Fn(&S) -> T + Copy);

    /// Reserves space for more elements.
    fn reserve(&mut self, more: usize);

    /// This many zeros.
    fn zeros(n: usize) -> Self;

    /// A part of the columns, for writing.
    type Slots<'a>: Send;

    /// All of them.
    fn slots(&mut self) -> Self::Slots<'_>;

    /// The first `at` elements, and the others.
    fn split<'a>(slots: Self::Slots<'a>, at: usize) -> (Self::Slots<'a>, Self::Slots<'a>);

    /// Writes the elements that `get` returns for items.
    fn fill<S>(slots: Self::Slots<'_>, items: &[S], get: impl Fn(&S) -> T + Copy);

    /// As values.
    ///
    /// # Errors
    /// There is no memory in the pool that counts them.
    fn into_data(self, pool: Counts<'_>) -> Result<Data, OverBudget>;

    /// Reads the element at an index of values; `None` if they are of another type.
    fn reader(data: &Data) -> Option<impl Fn(usize) -> T>;

    /// The columns of elements that are given away, on a number of threads.
    fn from_vec(items: Vec<T>, threads: usize) -> Self {
        apart(&items, threads)
    }

    /// One element as a value.
    fn one(item: T) -> Result<Data, OverBudget> {
        Self::from_vec(vec![item], 1).into_data(None)
    }

    /// Adds elements.
    fn extend(&mut self, items: &[T]) {
        self.reserve(items.len());
        items.chunks(AT_ONCE).for_each(|some| self.extend_with(some, |x| *x));
    }

    /// Elements as values that are lent, if their layout permits.
    fn lend<'a>(items: &'a [T], lender: &Lender<'a>) -> Result<Data, OverBudget> {
        apart::<T, Self>(items, lender.threads()).into_data(None)
    }

    /// The elements of values; `None` if they are of another type.
    fn into_vec(data: Data) -> Option<Vec<T>> {
        let read = Self::reader(&data)?;
        Some((0..data.len()).map(read).collect())
    }
}

/// The number of bytes that justifies a thread.
const WORTH: usize = 1 << 20;

/// Splits elements into columns, on at most `threads` threads.
fn apart<T: Elt, C: Columns<T>>(items: &[T], threads: usize) -> C {
    let parts = threads.min(size_of_val(items) / WORTH);
    if parts <= 1 {
        let mut columns = C::default();
        columns.extend(items);
        return columns;
    }
    let mut columns = C::zeros(items.len());
    let mut rest = columns.slots();
    std::thread::scope(|scope| {
        for part in items.chunks(items.len().div_ceil(parts)) {
            let (mut mine, others) = C::split(rest, part.len());
            rest = others;
            scope.spawn(move || {
                for some in part.chunks(AT_ONCE) {
                    let (here, after) = C::split(mine, some.len());
                    C::fill(here, some, |x| *x);
                    mine = after;
                }
            });
        }
    });
    columns
}

macro_rules! numbers {
    ($($t:ty)*) => {$(
        impl Columns<$t> for Vec<$t> {
            fn extend_with<S>(&mut self, items: &[S], get: impl Fn(&S) -> $t + Copy) {
                Extend::extend(self, items.iter().map(get));
            }
            fn reserve(&mut self, more: usize) {
                Vec::reserve(self, more);
            }
            fn zeros(n: usize) -> Self {
                vec![Default::default(); n]
            }
            type Slots<'a> = &'a mut [$t];
            fn slots(&mut self) -> &mut [$t] {
                self
            }
            fn split<'a>(slots: Self::Slots<'a>, at: usize) -> (Self::Slots<'a>, Self::Slots<'a>) {
                slots.split_at_mut(at)
            }
            fn fill<S>(slots: &mut [$t], items: &[S], get: impl Fn(&S) -> $t + Copy) {
                slots.iter_mut().zip(items).for_each(|(slot, x)| *slot = get(x));
            }
            fn into_data(self, pool: Counts<'_>) -> Result<Data, OverBudget> {
                match pool {
                    Some(pool) => Data::counted_numbers(self, pool, WHAT),
                    None => Ok(Data::numbers(self)),
                }
            }
            fn reader(data: &Data) -> Option<impl Fn(usize) -> $t> {
                let all = data.as_numbers::<$t>()?;
                Some(move |i: usize| all[i])
            }
            fn from_vec(items: Vec<$t>, _: usize) -> Self {
                items
            }
            fn one(item: $t) -> Result<Data, OverBudget> {
                Ok(Data::number(item))
            }
            fn extend(&mut self, items: &[$t]) {
                self.extend_from_slice(items);
            }
            fn lend<'a>(items: &'a [$t], lender: &Lender<'a>) -> Result<Data, OverBudget> {
                Ok(lender.lend(items))
            }
            fn into_vec(data: Data) -> Option<Vec<$t>> {
                match data.into_form() {
                    Form::Scalars(<$t as Number>::TYPE, b) => Some(b.into_vec::<$t>()),
                    _ => None,
                }
            }
        }
    )*};
}

numbers! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }

impl Columns<bool> for Vec<bool> {
    fn extend_with<S>(&mut self, items: &[S], get: impl Fn(&S) -> bool + Copy) {
        Extend::extend(self, items.iter().map(get));
    }
    fn reserve(&mut self, more: usize) {
        Vec::reserve(self, more);
    }
    fn zeros(n: usize) -> Self {
        vec![Default::default(); n]
    }
    type Slots<'a> = &'a mut [bool];
    fn slots(&mut self) -> &mut [bool] {
        self
    }
    fn split<'a>(slots: Self::Slots<'a>, at: usize) -> (Self::Slots<'a>, Self::Slots<'a>) {
        slots.split_at_mut(at)
    }
    fn fill<S>(slots: &mut [bool], items: &[S], get: impl Fn(&S) -> bool + Copy) {
        slots.iter_mut().zip(items).for_each(|(slot, x)| *slot = get(x));
    }
    fn into_data(self, pool: Counts<'_>) -> Result<Data, OverBudget> {
        match pool {
            Some(pool) => Data::counted_bools(self, pool, WHAT),
            None => Ok(Data::bools(self)),
        }
    }
    fn reader(data: &Data) -> Option<impl Fn(usize) -> bool> {
        let all = data.as_scalars()?.as_slice::<u8>();
        Some(move |i: usize| all[i] != 0)
    }
    fn from_vec(items: Vec<bool>, _: usize) -> Self {
        items
    }
    fn lend<'a>(items: &'a [bool], lender: &Lender<'a>) -> Result<Data, OverBudget> {
        Ok(lender.lend_bools(items))
    }
    fn into_vec(data: Data) -> Option<Vec<bool>> {
        if let Form::Scalars(ScalarType::Bool, b) = data.into_form() { b.into_bools() } else { None }
    }
}

/// Tuples of these components, which were filled together.
pub fn tuples(components: Vec<Data>) -> Data {
    let len = components.first().map_or(0, Data::len);
    Data::tuples(len, components).expect("components that were filled together are as many")
}

macro_rules! tuples {
    ($(($($name:ident $flat:ident $index:tt),+);)*) => {$(
        impl<$($name: Elt),+> Columns<($($name,)+)> for ($($name::Columns,)+) {
            fn extend_with<S>(&mut self, items: &[S], get: impl Fn(&S) -> ($($name,)+) + Copy) {
                $(self.$index.extend_with(items, move |x| get(x).$index);)+
            }
            fn reserve(&mut self, more: usize) {
                $(self.$index.reserve(more);)+
            }
            fn zeros(n: usize) -> Self {
                ($(<$name::Columns as Columns<$name>>::zeros(n),)+)
            }
            type Slots<'a> = ($(<$name::Columns as Columns<$name>>::Slots<'a>,)+);
            fn slots(&mut self) -> Self::Slots<'_> {
                ($(<$name::Columns as Columns<$name>>::slots(&mut self.$index),)+)
            }
            fn split<'a>(slots: Self::Slots<'a>, at: usize) -> (Self::Slots<'a>, Self::Slots<'a>) {
                let both = ($(<$name::Columns as Columns<$name>>::split(slots.$index, at),)+);
                (($(both.$index.0,)+), ($(both.$index.1,)+))
            }
            fn fill<S>(slots: Self::Slots<'_>, items: &[S], get: impl Fn(&S) -> ($($name,)+) + Copy) {
                $(<$name::Columns as Columns<$name>>::fill(slots.$index, items, move |x| get(x).$index);)+
            }
            fn into_data(self, pool: Counts<'_>) -> Result<Data, OverBudget> {
                Ok(tuples(vec![$(self.$index.into_data(pool)?),+]))
            }
            fn reader(data: &Data) -> Option<impl Fn(usize) -> ($($name,)+)> {
                let read = ($(<$name::Columns as Columns<$name>>::reader(data.component($index)?)?,)+);
                Some(move |i: usize| ($((read.$index)(i),)+))
            }
        }

        impl<$($name, $flat: Flat<$name>),+> Flat<($($name,)+)> for ($($flat,)+) {
            fn push(&mut self, item: &($($name,)+)) {
                $(self.$index.push(&item.$index);)+
            }
            fn bytes(item: &($($name,)+)) -> usize {
                [$($flat::bytes(&item.$index)),+].into_iter().sum()
            }
            fn into_data(self, pool: Counts<'_>) -> Result<Data, OverBudget> {
                Ok(tuples(vec![$(self.$index.into_data(pool)?),+]))
            }
            #[allow(non_snake_case)]
            fn into_vec(data: Data) -> Option<Vec<($($name,)+)>> {
                let n = data.len();
                let Form::Tuple(parts) = data.into_form() else { return None };
                let mut parts = parts.into_iter();
                $(let mut $name = $flat::into_vec(parts.next()?)?.into_iter();)+
                (0..n).map(|_| Some(($($name.next()?,)+))).collect()
            }
        }
    )*};
}

tuples! {
    (A FA 0, B FB 1);
    (A FA 0, B FB 1, C FC 2);
    (A FA 0, B FB 1, C FC 2, D FD 3);
    (A FA 0, B FB 1, C FC 2, D FD 3, E FE 4);
    (A FA 0, B FB 1, C FC 2, D FD 3, E FE 4, F FF 5);
    (A FA 0, B FB 1, C FC 2, D FD 3, E FE 4, F FF 5, G FG 6);
    (A FA 0, B FB 1, C FC 2, D FD 3, E FE 4, F FF 5, G FG 6, H FH 7);
}

/// Host values of one type, one after another, while they are collected in flat memory.
pub trait Flat<P>: Default + Send + 'static {
    /// Adds a value.
    fn push(&mut self, item: &P);

    /// As values.
    ///
    /// # Errors
    /// There is no memory in the pool that counts them.
    fn into_data(self, pool: Counts<'_>) -> Result<Data, OverBudget>;

    /// Values converted to those of the host; `None` if they are of another type.
    fn into_vec(data: Data) -> Option<Vec<P>>;

    /// The approximate bytes of a value.
    fn bytes(item: &P) -> usize;

    /// Adds values.
    fn extend(&mut self, items: &[P]) {
        items.iter().for_each(|item| self.push(item));
    }

    /// Values that are given away, on a number of threads.
    fn from_vec(items: Vec<P>, _threads: usize) -> Self {
        let mut flat = Self::default();
        flat.extend(&items);
        flat
    }

    /// Values that are lent, if their layout permits.
    fn lend<'a>(items: &'a [P], _lender: &Lender<'a>) -> Result<Data, OverBudget> {
        let mut flat = Self::default();
        flat.extend(items);
        flat.into_data(None)
    }
}

/// Elements.
#[derive(Debug)]
pub struct Elements<T: Elt>(T::Columns);

impl<T: Elt> Default for Elements<T> {
    fn default() -> Self {
        Elements(Default::default())
    }
}

impl<T: Elt> Flat<T> for Elements<T> {
    fn push(&mut self, item: &T) {
        self.0.extend_with(std::slice::from_ref(item), |x| *x);
    }
    fn bytes(_: &T) -> usize {
        size_of::<T>()
    }
    fn into_data(self, pool: Counts<'_>) -> Result<Data, OverBudget> {
        self.0.into_data(pool)
    }
    fn into_vec(data: Data) -> Option<Vec<T>> {
        <T::Columns as Columns<T>>::into_vec(data)
    }
    fn extend(&mut self, items: &[T]) {
        self.0.extend(items);
    }
    fn from_vec(items: Vec<T>, threads: usize) -> Self {
        Elements(Columns::from_vec(items, threads))
    }
    fn lend<'a>(items: &'a [T], lender: &Lender<'a>) -> Result<Data, OverBudget> {
        <T::Columns as Columns<T>>::lend(items, lender)
    }
}

/// Vectors or sequences of any lengths.
#[derive(Debug)]
pub struct Rows<F> {
    /// The end of each, after a 0.
    ends: Vec<i64>,
    elem: F,
}

impl<F: Default> Default for Rows<F> {
    fn default() -> Self {
        Rows { ends: vec![0], elem: F::default() }
    }
}

impl<F> Rows<F> {
    fn end(&mut self, len: usize) {
        let begins = self.ends.last().copied().unwrap_or(0);
        self.ends.push(begins + len as i64);
    }
}

fn offsets(ends: Vec<i64>, pool: Counts<'_>) -> Result<Buffer, OverBudget> {
    match pool {
        Some(pool) => pool.adopt(ends, WHAT),
        None => Ok(Buffer::from_vec(ends)),
    }
}

impl<P, F: Flat<P>> Flat<Vec<P>> for Rows<F> {
    fn push(&mut self, row: &Vec<P>) {
        self.elem.extend(row);
        self.end(row.len());
    }
    fn bytes(row: &Vec<P>) -> usize {
        size_of::<i64>() + row.iter().map(F::bytes).sum::<usize>()
    }
    fn into_data(self, pool: Counts<'_>) -> Result<Data, OverBudget> {
        Ok(rows(offsets(self.ends, pool)?, self.elem.into_data(pool)?))
    }
    fn into_vec(data: Data) -> Option<Vec<Vec<P>>> {
        let (lens, elem) = lengths(data)?;
        let mut all = F::into_vec(elem)?.into_iter();
        Some(lens.into_iter().map(|len| all.by_ref().take(len).collect()).collect())
    }
}

/// Rows whose ends are the ends of their collected elements.
fn rows(offsets: Buffer, elem: Data) -> Data {
    Data::rows(offsets, elem).expect("a row ends where its elements do")
}

/// The length of each row, and their elements.
fn lengths(data: Data) -> Option<(Vec<usize>, Data)> {
    let lens = (0..data.len()).map(|i| data.row(i).map(|(lo, hi)| hi - lo)).collect::<Option<_>>()?;
    match data.into_form() {
        Form::Equal(_, elem) | Form::Offsets(_, elem) => Some((lens, *elem)),
        _ => None,
    }
}

/// Arrays of several dimensions, each with a shape of its own.
#[derive(Debug)]
pub struct Grids<F, D> {
    /// The ends of the parts of each dimension, after a 0.
    ends: Vec<Vec<i64>>,
    elem: F,
    rank: PhantomData<fn() -> D>,
}

impl<F: Default, D: Rank> Default for Grids<F, D> {
    fn default() -> Self {
        Grids { ends: vec![vec![0]; D::N], elem: F::default(), rank: PhantomData }
    }
}

impl<P, F: Flat<P>, D: Rank> Flat<Array<P, D>> for Grids<F, D> {
    fn push(&mut self, array: &Array<P, D>) {
        let mut parts = 1;
        for (ends, size) in self.ends.iter_mut().zip(array.shape()) {
            for _ in 0..parts {
                ends.push(ends.last().copied().unwrap_or(0) + *size as i64);
            }
            parts *= size;
        }
        self.elem.extend(array.as_slice());
    }
    fn bytes(array: &Array<P, D>) -> usize {
        size_of::<i64>() + array.as_slice().iter().map(F::bytes).sum::<usize>()
    }
    fn into_data(self, pool: Counts<'_>) -> Result<Data, OverBudget> {
        let elem = self.elem.into_data(pool);
        self.ends.into_iter().rev().fold(elem, |elem, ends| Ok(rows(offsets(ends, pool)?, elem?)))
    }
    fn into_vec(mut data: Data) -> Option<Vec<Array<P, D>>> {
        let n = data.len();
        let (mut shapes, mut parts) = (vec![Vec::with_capacity(D::N); n], vec![1; n]);
        for _ in 0..D::N {
            let (lens, elem) = lengths(data)?;
            let mut lens = lens.into_iter();
            for (shape, parts) in shapes.iter_mut().zip(&mut parts) {
                let mine: Vec<usize> = lens.by_ref().take(*parts).collect();
                let size = mine.first().copied().unwrap_or(0);
                if mine.iter().any(|len| *len != size) {
                    return None;
                }
                shape.push(size);
                *parts *= size;
            }
            data = elem;
        }
        let mut all = F::into_vec(data)?.into_iter();
        let made =
            shapes.iter().zip(parts).map(|(shape, len)| Array::new(shape, all.by_ref().take(len).collect()).ok());
        made.collect()
    }
}

/// One array of this shape, its elements collected into a row for each dimension.
pub fn shaped(shape: &[usize], elems: Data) -> Data {
    let mut data = elems;
    for (k, n) in shape.iter().enumerate().rev() {
        let arrays = shape[..k].iter().product();
        data = Data::equal(arrays, *n, data).expect("an array has as many elements as its shape says");
    }
    data
}

/// The shape of the only array, with this number of dimensions, and its elements; `None` if its rows differ in length.
pub fn shape_of(mut data: Data, rank: usize) -> Option<(Vec<usize>, Data)> {
    let mut shape = Vec::with_capacity(rank);
    for _ in 0..rank {
        let (size, elem) = match data.into_form() {
            Form::Equal(m, elem) => (m, elem),
            Form::Offsets(ends, elem) => {
                let ends = ends.as_slice::<i64>();
                let size = ends.get(1).copied().unwrap_or(0);
                if ends.windows(2).any(|w| w[1] - w[0] != size) {
                    return None;
                }
                (size as usize, elem)
            }
            _ => return None,
        };
        shape.push(size);
        data = *elem;
    }
    Some((shape, data))
}
