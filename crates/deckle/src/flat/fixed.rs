//! The columns of `usize` and `isize`, which are those of `i64`, and of arrays of fixed length, which are those of their elements.

use super::{Columns, Counts, tuples};
use crate::elt::{ArrayColumns, Elt};
use deckle_runtime::{Data, OverBudget};

macro_rules! positions {
    ($($t:ty)*) => {$(
        impl Columns<$t> for Vec<i64> {
            fn extend_with<S>(&mut self, items: &[S], get: impl Fn(&S) -> $t + Copy) {
                Extend::extend(self, items.iter().map(|x| get(x) as i64));
            }
            fn reserve(&mut self, more: usize) {
                Vec::reserve(self, more);
            }
            fn zeros(n: usize) -> Self {
                vec![0; n]
            }
            type Slots<'a> = &'a mut [i64];
            fn slots(&mut self) -> &mut [i64] {
                self
            }
            fn split<'a>(slots: Self::Slots<'a>, at: usize) -> (Self::Slots<'a>, Self::Slots<'a>) {
                slots.split_at_mut(at)
            }
            fn fill<S>(slots: &mut [i64], items: &[S], get: impl Fn(&S) -> $t + Copy) {
                slots.iter_mut().zip(items).for_each(|(slot, x)| *slot = get(x) as i64);
            }
            fn into_data(self, pool: Counts<'_>) -> Result<Data, OverBudget> {
                <Self as Columns<i64>>::into_data(self, pool)
            }
            fn reader(data: &Data) -> Option<impl Fn(usize) -> $t> {
                let read = <Self as Columns<i64>>::reader(data)?;
                Some(move |i: usize| read(i) as $t)
            }
        }
    )*};
}

positions! { usize isize }

impl<T: Elt, const N: usize> Columns<[T; N]> for ArrayColumns<T, N> {
    fn extend_with<S>(&mut self, items: &[S], get: impl Fn(&S) -> [T; N] + Copy) {
        for (k, column) in self.each().enumerate() {
            column.extend_with(items, move |x| get(x)[k]);
        }
    }
    fn reserve(&mut self, more: usize) {
        self.each().for_each(|column| Columns::<T>::reserve(column, more));
    }
    fn zeros(n: usize) -> Self {
        ArrayColumns::of(|| <T::Columns as Columns<T>>::zeros(n))
    }
    type Slots<'a> = Vec<<T::Columns as Columns<T>>::Slots<'a>>;
    fn slots(&mut self) -> Self::Slots<'_> {
        self.each().map(<T::Columns as Columns<T>>::slots).collect()
    }
    fn split<'a>(slots: Self::Slots<'a>, at: usize) -> (Self::Slots<'a>, Self::Slots<'a>) {
        slots.into_iter().map(|slots| <T::Columns as Columns<T>>::split(slots, at)).unzip()
    }
    fn fill<S>(slots: Self::Slots<'_>, items: &[S], get: impl Fn(&S) -> [T; N] + Copy) {
        for (k, slots) in slots.into_iter().enumerate() {
            <T::Columns as Columns<T>>::fill(slots, items, move |x| get(x)[k]);
        }
    }
    fn into_data(self, pool: Counts<'_>) -> Result<Data, OverBudget> {
        let columns: Result<Vec<Data>, OverBudget> = self.0.into_iter().map(|c| c.into_data(pool)).collect();
        Ok(tuples(columns?))
    }
    fn reader(data: &Data) -> Option<impl Fn(usize) -> [T; N]> {
        let read: Option<Vec<_>> = (0..N).map(|k| <T::Columns as Columns<T>>::reader(data.component(k)?)).collect();
        let read = read?;
        Some(move |i: usize| std::array::from_fn(|k| read[k](i)))
    }
}
