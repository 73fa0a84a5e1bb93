//! The sizes at which work is cut: one struct, so that tests can set all of them to a few elements at once.
//!
//! Compiled code and the host that runs it take different paths below and above each of these sizes. With [`Cuts::default`] an array needs
//! tens of thousands of elements to reach the second path of all of them; with [`Cuts::small`] fifty are enough.
//!
//! Integers do not depend on cuts. Sums of floats do, since they are combined block by block; for equal cuts they have equal bits, on any number of
//! threads and in chunks of any size. Cuts that code is generated for are constants in it, so the cache of compiled code tells them apart.

/// The sizes at which work is cut. Lanes, accumulators and tables are powers of two; a window is a multiple of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cuts {
    // Flattening.
    /// An array of at most this constant size is computed again where it is used, rather than stored, also if that takes a few operations more.
    pub few_again: i64,
    /// A loop of at most this constant number of rounds may be unrolled.
    pub unrolled_rounds: i64,
    /// At most as many elements have places below a guard for each point that does not pass it.
    pub few_unused: i64,

    // Schedules.
    /// The points of a block, without loops inside. Where floats are combined block by block, this decides their grouping.
    pub block: i64,
    /// The points of a block, with loops inside.
    pub nested_block: i64,
    /// The bytes of a vector register.
    pub register: usize,
    /// The most lanes of a vector.
    pub lanes: usize,
    /// The vectors of a round in a body with little to compute: the latency of one hides behind the others.
    pub vectors: u16,
    /// More nodes of a point than this, with a loop among them, are compiled once, for vectors that may be partly filled: beside it, code for full ones is not worth its time.
    pub large_point: usize,
    /// The accumulators that are used round-robin where gathers are slow.
    pub accumulators: i64,
    /// A dimension of at most this constant size is unrolled.
    pub unrolled: i64,
    /// Arrays of at least as many bytes are written with non-temporal stores: they do not fit the caches.
    pub non_temporal: i64,
    /// The cache lines that leave a buffer together, where rows are written in whole ones. A core has a dozen or so buffers of a line for loads and non-temporal stores: of eight lines at once, loads waited.
    pub whole_lines: u16,
    /// The rows of a tile, with one sum and with several: as many as there are registers for.
    pub tile_rows: [usize; 2],
    /// At least as many rows are tiled: below, copying columns does not pay.
    pub least_tiled: i64,
    /// At most as many elements of a column are copied: they should stay in a cache.
    pub deepest_tile: i64,
    /// The rows of different lengths that are folded together: their lengths and sums should stay in the nearest cache.
    pub row_window: u16,
    /// The rows of a window whose gathered elements are loaded ahead, and the elements that it may have for that: they should stay in the nearest cache.
    pub staged_rows: u16,
    /// See [`Cuts::staged_rows`].
    pub staged: u16,
    /// Rows that are known to have at most as many elements are not shared by threads.
    pub few_in_row: i64,
    /// The points of a block that are traversed before the code looks whether something has failed. By default no fewer than blocks usually have: their floats are combined as
    /// without.
    pub part: i64,
    /// The rounds of any loop between two such looks.
    pub strip: i64,

    // Chunks of sequences.
    /// The elements of a sequence whose floats are combined together, counted from its start.
    pub float_block: i64,
    /// An element or a group of a sequence is large with more elements inside than this: it is traversed by a loop of its own.
    pub large: i64,
    /// A vector that is collected is appended to the longer one before it when it is this many times as long as the last chunk.
    pub collected: i64,
    /// The elements that are traversed at once inside others: in all, for each thread, and at least.
    pub inside: i64,
    /// See [`Cuts::inside`].
    pub inside_for_thread: i64,
    /// See [`Cuts::inside`].
    pub least_inside: i64,
    /// The most elements of a chunk whose size is found out while it runs.
    pub most_chunk: i64,
    /// The bytes of the first block that is read ahead from a source; each one after it is twice as large.
    pub first_read: usize,
    /// The most bytes that are read ahead at once.
    pub largest_read: usize,
    /// As many bytes that were read are worth a chunk of their own.
    pub worth_chunk: usize,
    /// A chunk of at least as many bytes is copied to a GPU while the kernels of the one before run.
    pub copied_early: usize,
    /// The least bytes that are read at once of a source that is wanted as a whole.
    pub whole_read: usize,

    // Threads.
    /// As many elements are worth several threads.
    pub worth: i64,
    /// As many points are worth a thread, where nothing is known of the work at each.
    pub worth_unknown: i64,
    /// The tasks for each thread: more balance better and cost more.
    pub tasks: i64,
    /// The most points of a call of compiled code, where there are that many blocks: between two calls a thread looks whether another has failed.
    pub points_in_call: i64,
    /// The most blocks with partial results: with more points, blocks are larger.
    pub partial: i64,
    /// The blocks for each thread that are scanned before the next ones: what they read should still be in a cache when it is read again.
    pub scan_window: i64,
    /// The most rows of a block, where rows are divided by their elements.
    pub rows_in_block: i64,
    /// The elements of a block of a long row.
    pub row_block: i64,
    /// A row that is shared by threads has more elements than this, and than a block.
    pub long: i64,
    /// And it is more than one of this many shares of each thread.
    pub shares: i64,
    /// The most long rows.
    pub most_long: usize,
    /// The most groups of rows of which the host computes lengths.
    pub row_groups: i64,
    /// The rows of such a group are a multiple of this.
    pub group_rows: i64,
    /// For at least as many rows, several threads compute lengths.
    pub many_rows: i64,

    // Sorts.
    /// The elements of a task of a sort.
    pub sort_block: usize,
    /// Runs of at most as many elements are sorted by comparisons.
    pub sort_small: usize,
    /// The entries of a thread in a round of a sort on a grid, and the most parts.
    pub sort_each: u32,
    /// See [`Cuts::sort_each`].
    pub sort_parts: i64,

    // Scatters.
    /// The least points for each element of a copy that is scattered into.
    pub points_for_copied: i64,
    /// A point that scatters a row of any length is taken for as many points with an element each.
    pub row_of_points: i64,
    /// Copies of fewer elements count as this many.
    pub least_copied: i64,
    /// The elements of all copies together.
    pub copied: i64,
    /// The least and the most copies.
    pub copies: [i64; 2],
    /// The most tables of a copy, which are used round-robin: at least 2.
    pub tables: i64,
    /// The bytes of all tables of a copy, or of half of them if there is no room for more: they should stay in the nearest cache.
    pub cached_copies: i64,
    /// The bytes of a part of an array that one thread scatters into, and the elements of an array that several threads merge copies into.
    pub owned: i64,

    // GPUs.
    /// As many elements for each point of the outermost dimension are worth a group of 8 threads, a warp, and a block.
    pub worth_group: [i64; 3],
    /// As many points of a product are worth tiles; the rows and columns of a tile for a thread, and the elements of a step.
    pub worth_tile: i64,
    /// See [`Cuts::worth_tile`].
    pub grid_tile: u32,
    /// See [`Cuts::worth_tile`].
    pub grid_tile_depth: u32,
    /// The bytes of the bins of a block: with more, a multiprocessor has room for fewer blocks.
    pub bins: u32,
    /// The least points of a part whose block has bins: they have to be worth combining these with the array.
    pub binned_part: i64,
    /// The successive points of a thread in a round of a scan: so many, of 8 bytes, are a sector of memory.
    pub in_round: u32,
    /// The elements of a run of rows that a warp has in shared memory at a time.
    pub run: u32,
    /// A row is split among blocks if it has more elements than this for each of the threads that would take it.
    pub split: i64,
    /// The elements of a piece of such a row, at least.
    pub piece: i64,
    /// The room for pieces, at least, where the lengths of rows are computed.
    pub pieces: i64,
    /// The most blocks that look for such rows, or take pieces: about as many as run at the same time.
    pub row_blocks: i64,
}

impl Default for Cuts {
    fn default() -> Cuts {
        Cuts {
            few_again: 16,
            unrolled_rounds: 128,
            few_unused: 64,
            block: 1 << 14,
            nested_block: 16,
            register: 64,
            lanes: 16,
            vectors: 4,
            large_point: 256,
            accumulators: 4,
            unrolled: 16,
            non_temporal: 32 << 20,
            whole_lines: 4,
            tile_rows: [6, 2],
            least_tiled: 12,
            deepest_tile: 1 << 13,
            row_window: 512,
            staged_rows: 128,
            staged: 1 << 12,
            few_in_row: 1 << 14,
            part: 1 << 22,
            strip: 1 << 22,
            float_block: 1 << 15,
            large: 1 << 18,
            collected: 16,
            inside: 1 << 18,
            inside_for_thread: 1 << 16,
            least_inside: 1 << 12,
            most_chunk: 1 << 24,
            first_read: 16 << 10,
            largest_read: 4 << 20,
            worth_chunk: 1 << 20,
            copied_early: 1 << 20,
            whole_read: 1 << 20,
            worth: 1 << 15,
            worth_unknown: 64,
            tasks: 8,
            points_in_call: 1 << 24,
            partial: 1 << 18,
            scan_window: 8,
            rows_in_block: 1 << 8,
            row_block: 1 << 14,
            long: 1 << 22,
            shares: 4,
            most_long: 1 << 12,
            row_groups: 1 << 12,
            group_rows: 1 << 6,
            many_rows: 1 << 16,
            sort_block: 1 << 15,
            sort_small: 256,
            sort_each: 16,
            sort_parts: 1 << 11,
            points_for_copied: 4,
            row_of_points: 64,
            least_copied: 1 << 10,
            copied: 1 << 22,
            copies: [2, 16],
            tables: 8,
            cached_copies: 1 << 15,
            owned: 1 << 18,
            worth_group: [4, 32, 2048],
            worth_tile: 1 << 18,
            grid_tile: 8,
            grid_tile_depth: 8,
            bins: 16384,
            binned_part: 4096,
            in_round: 4,
            run: 256,
            split: 128,
            piece: 1 << 13,
            pieces: 1 << 17,
            row_blocks: 1 << 10,
        }
    }
}

impl Cuts {
    /// The default but for what takes long on the simulator: sorts with many entries for each thread, and blocks for long rows where there are few of these.
    pub fn simulated() -> Cuts {
        let Cuts { sort_each, row_blocks, .. } = Cuts::small();
        Cuts { sort_each, row_blocks, pieces: 1 << 15, ..Cuts::default() }
    }

    /// A few elements each.
    pub fn small() -> Cuts {
        Cuts {
            few_again: 2,
            unrolled_rounds: 2,
            few_unused: 2,
            block: 3,
            nested_block: 2,
            register: 16,
            lanes: 4,
            vectors: 2,
            large_point: 12,
            accumulators: 2,
            unrolled: 2,
            non_temporal: 64,
            whole_lines: 1,
            tile_rows: [3, 2],
            least_tiled: 3,
            deepest_tile: 4,
            row_window: 8,
            staged_rows: 4,
            staged: 9,
            few_in_row: 2,
            part: 4,
            strip: 3,
            float_block: 5,
            large: 4,
            collected: 2,
            inside: 8,
            inside_for_thread: 4,
            least_inside: 3,
            most_chunk: 8,
            first_read: 8,
            largest_read: 32,
            worth_chunk: 24,
            copied_early: 24,
            whole_read: 16,
            worth: 1,
            worth_unknown: 1,
            tasks: 2,
            points_in_call: 4,
            partial: 8,
            scan_window: 1,
            rows_in_block: 2,
            row_block: 2,
            long: 3,
            shares: 2,
            most_long: 3,
            row_groups: 4,
            group_rows: 2,
            many_rows: 5,
            sort_block: 2,
            sort_small: 3,
            sort_each: 2,
            sort_parts: 3,
            points_for_copied: 1,
            row_of_points: 2,
            least_copied: 2,
            copied: 16,
            copies: [2, 3],
            tables: 4,
            cached_copies: 64,
            owned: 32,
            worth_group: [1, 3, 6],
            worth_tile: 12,
            grid_tile: 4,
            grid_tile_depth: 4,
            bins: 64,
            binned_part: 7,
            in_round: 2,
            run: 3,
            split: 2,
            piece: 3,
            pieces: 2,
            row_blocks: 3,
        }
    }
}
