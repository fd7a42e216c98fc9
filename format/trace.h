/* SPDX-License-Identifier: MIT
 * Constants of the MemScope trace format, version 1: the numbers that are a promise.
 *
 * The prose specification is man/ms-trace.5. Everything is little-endian. Numbers here are pinned
 * for ever: new ones are added, none is reused.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* First eight bytes of a trace. 0x89 and the line ends break when a transfer treats it as text. */
#define MS_TRACE_MAGIC "\x89MST\r\n\x1a\n"
#define MS_TRACE_MAGIC_SIZE 8
#define MS_TRACE_MAJOR 1
#define MS_TRACE_MINOR 0

/* Length of one time tick of event blocks, in ns, as written by this version (header: tick_ns). */
#define MS_TRACE_TICK_NS 100000u

/* Feature bits. A reader refuses a trace with an unknown `need` bit, and ignores unknown `hint`
 * bits. */
#define MS_FEATURE_ADDRESSES (UINT64_C(1) << 0) /* hint: event blocks hold an address column */

/* Block types. A reader skips a type that it does not know. */
enum ms_block_type {
	MS_BLOCK_INFO = 1,     /* records: MS_INFO_*; first block; a later one amends it */
	MS_BLOCK_EVENTS = 2,   /* columns: MS_COL_*; all threads' events in exact global order */
	MS_BLOCK_STACKS = 3,   /* columns: MS_NODE_*; frames and stack nodes first used later on */
	MS_BLOCK_MODULES = 4,  /* records: MS_MODULE_* */
	MS_BLOCK_THREADS = 5,  /* records: MS_THREAD_* */
	MS_BLOCK_SAMPLES = 6,  /* records: MS_SAMPLE_* */
	MS_BLOCK_MARKS = 7,    /* records: MS_MARK_* */
	MS_BLOCK_LOSSES = 8,   /* records: MS_LOSS_* */
	MS_BLOCK_END = 9,      /* one record: MS_END_*; the last end block of a file counts */
	MS_BLOCK_SYMBOLS = 10, /* records: MS_SYM_*; appended after an end block */
	MS_BLOCK_CHECKPOINT = 11, /* columns: MS_LIVE_*; the live blocks at a moment */
	MS_BLOCK_INDEX = 12,      /* records: MS_INDEX_*; where blocks are */
	MS_BLOCK_VERDICTS = 13,   /* records: MS_VERDICT_*; what a scan of memory found */
	MS_BLOCK_BEFORE = 14,     /* records: MS_BEFORE_*; blocks from before an attachment */
	MS_BLOCK_RESIDENT = 15,   /* records: MS_RESIDENT_*; what was resident at moments */
};

/* Columns of an event block. Absent = empty. */
enum ms_event_column {
	MS_COL_HEAD = 1, /* varints: first allocation number, first event number, first tick, event
			    count */
	MS_COL_OP = 2,   /* one byte per event: kind and which predictions held */
	MS_COL_THREAD = 3, /* varint per change of thread: thread index */
	MS_COL_STACK = 4,  /* varint per mispredicted stack */
	MS_COL_SIZE = 5,   /* varint per mispredicted size, in bytes */
	MS_COL_FREED = 6,  /* varint per mispredicted free: which block */
	MS_COL_TIME = 7,   /* varint per event whose tick differs from the one before: difference */
	MS_COL_ADDRESS_OLD = 8, /* of early recorders; not read any more, and so is HEAP_OLD */
	MS_COL_UNKNOWN = 9,     /* varint per free of an unknown block: its address */
	MS_COL_EXT = 10,        /* payload of MS_EV_EXT events */
	MS_COL_SLACK = 11, /* varint per allocation: usable size - size; absent = not asked for */
	MS_COL_HEAP_OLD = 12,
	MS_COL_ADDRESS =
		13, /* varints per allocation: distance from a guess; see format/address.h */
};

/* Columns of a stacks block. Frames and nodes are numbered from 1 in order of appearance in the
 * file; 0 is "none" (the root above every stack). */
enum ms_stacks_column {
	MS_NODE_HEAD = 1, /* varints: number of first frame, frame count, first node, node count */
	MS_NODE_FRAME_MODULE = 2, /* varint per frame: module id, 0 = unknown */
	MS_NODE_FRAME_ADDR =
		3, /* zigzag varint per frame: address minus that of the frame before */
	MS_NODE_FRAME_FLAGS = 4, /* varint per frame: MS_FRAME_* */
	MS_NODE_PARENT = 5, /* varint per node: own number minus number of the caller's node; own
			       number = root */
	MS_NODE_FRAME = 6,  /* zigzag varint per node: frame minus frame of the node before */
};

/* Columns of a checkpoint: the state before event FIRST_EVENT of the file, in one or more blocks
 * that follow each other at once (part 0, 1, ..), between event blocks. Blocks in order of number.
 */
enum ms_live_column {
	MS_LIVE_HEAD = 1,    /* varints: number of the next event, of the next allocation, its tick,
				live    bytes, live blocks, part, parts, blocks in this part */
	MS_LIVE_NUMBER = 2,  /* varint per block: number minus that of the block before minus 1; the
				first: number */
	MS_LIVE_SIZE = 3,    /* varint per block, bytes */
	MS_LIVE_STACK = 4,   /* zigzag varint per block: stack minus that of the block before */
	MS_LIVE_THREAD = 5,  /* varint per block */
	MS_LIVE_TICK = 6,    /* zigzag varint per block: tick minus that of the block before */
	MS_LIVE_ADDRESS = 7, /* zigzag varint per block: address minus that of the block before;
				absent: not recorded */
	MS_LIVE_SLACK = 8,   /* varint per block; absent: not recorded */
	MS_LIVE_LAST = 9,    /* varint per thread that allocated, by index: number of its latest
				allocation + 1, 0 = none; in part 0 */
	MS_LIVE_MAPPED = 10, /* address space, in order of address: varint address minus the end of
				the range before, varint bytes, varint stack; in part 0; absent:
				none, or not recorded */
};

/* The index: one record per block before it, in order of offset. Written once, before the last end
 * block of the recording; MS_END_INDEX says where. */
enum ms_index_field {
	MS_INDEX_TYPE = 1,   /* MS_BLOCK_* */
	MS_INDEX_OFFSET = 2, /* bytes from the start of the file */
	MS_INDEX_BYTES = 3,  /* of the block, header included */
	MS_INDEX_NUMBER = 4, /* of the block */
	MS_INDEX_TICK = 5,   /* events: of its first event; checkpoint: of the next event */
	MS_INDEX_EVENT = 6,  /* events: number of its first event; checkpoint: of the next event */
	MS_INDEX_EVENTS = 7, /* events in the block */
};

/* Flags of a frame. */
#define MS_FRAME_EXACT 1u /* the address is an interrupted instruction, not a return address */
#define MS_FRAME_CUT                                                                               \
	2u /* not a frame: callers between leaf and root part were left out (depth)                \
	    */
#define MS_FRAME_TRUNCATED 4u /* not a frame: the callers beyond could not be found */
#define MS_FRAME_NOT_TAKEN 8u /* not a frame: the stack was not taken (rate limit) */
#define MS_FRAME_BEFORE 16u   /* not a frame: allocated before the recording began */
#define MS_FRAME_HEAP 32u     /* not a frame: the heap that its module names; above the root */
#define MS_FRAME_NOT_READ 64u /* not a frame: an interpreter's, run by the one before, unread */

/* Records blocks hold a sequence of records; a record is a varint byte length, then fields; a field
 * is varint (number << 1 | is_bytes), then a varint value, or a varint length and that many bytes.
 * Fields may repeat (lists) and unknown ones are skipped. Times are ns since the start of the
 * recording. */

enum ms_info_field {
	MS_INFO_PID = 1,
	MS_INFO_PPID = 2,
	MS_INFO_EXE = 3,        /* bytes */
	MS_INFO_ARG = 4,        /* bytes, repeated; absent with --without=args */
	MS_INFO_ENV = 5,        /* bytes, repeated: "NAME=value" of the names of interest */
	MS_INFO_HOST = 6,       /* bytes */
	MS_INFO_KERNEL = 7,     /* bytes */
	MS_INFO_START_WALL = 8, /* ns since 1970 UTC */
	MS_INFO_START_MONO = 9, /* CLOCK_MONOTONIC ns: common clock of traces of one machine */
	MS_INFO_PAGE_SIZE = 10,
	MS_INFO_RECORDER = 11,     /* bytes: "ms-record 0.1.0" */
	MS_INFO_SAMPLE_BYTES = 12, /* 0 = every event */
	MS_INFO_DEPTH = 13,        /* --depth */
	MS_INFO_ATTACHED = 14,     /* 1 = recording began in mid-run */
	MS_INFO_CLOCK = 15,        /* bytes: "tsc" or "sequence" */
	MS_INFO_CWD = 16,          /* bytes */
	MS_INFO_SESSION = 17,      /* bytes, 16: the same for all images of one ms-record run */
	MS_INFO_IMAGE = 18,        /* number of this image in that run, 0 = launched */
	MS_INFO_PARENT_IMAGE = 19, /* image that forked or execed this one, plus 1 */
	MS_INFO_UID = 20,
	MS_INFO_BOOT_ID = 21, /* bytes */
	/* Fields of an image that a fork made: */
	MS_INFO_FORKED = 22,           /* 1 */
	MS_INFO_FORK_EVENT = 23,       /* events in the parent's trace before the fork */
	MS_INFO_FORK_NUMBER = 24,      /* allocations in the parent's trace before the fork */
	MS_INFO_INHERITED_BLOCKS = 25, /* blocks live in the parent then */
	MS_INFO_INHERITED_BYTES = 26,
	MS_INFO_SAMPLE_SEED = 27,
	MS_INFO_OPTIONS = 28, /* MS_OPTION_*: what was asked for besides */
	MS_INFO_STARTED_LATE =
		29, /* ns that the process ran before its recording began (--start-after) */
	/* Fields of a trace that was cut out of another (ms-filter --trace-out): */
	MS_INFO_CUT = 30,       /* bytes: "FILE by OPTIONS" */
	MS_INFO_CUT_FROM = 31,  /* ns: figures count from here; absent: from the start */
	MS_INFO_CUT_EVENT = 32, /* with CUT_FROM: number of the first event that counts, where
				   the time alone does not tell */
	MS_INFO_CUT_TO = 33,    /* ns: it ends here; absent: at the end of the recording */
	MS_INFO_CUT_SOME = 34,  /* 1: between these, events were left out by conditions */
	MS_INFO_BEGAN = 35,     /* of an attached process: when it was started, ns since 1970 UTC */
};

#define MS_OPTION_MMAP 1u        /* mapped address space was recorded */
#define MS_OPTION_USABLE 2u      /* usable sizes */
#define MS_OPTION_FREE_STACKS 4u /* where blocks were freed */
#define MS_OPTION_KEEP_LIVE 8u   /* pairs already freed are dropped at --max-size */
#define MS_OPTION_POLL 16u       /* samples only: no event was to be recorded */
#define MS_OPTION_KEEP_LAST 32u  /* events are dropped when they are older than that */

enum ms_module_field {
	MS_MODULE_ID = 1,        /* from 1; a later record of the same id amends it */
	MS_MODULE_PATH = 2,      /* bytes */
	MS_MODULE_BUILD_ID = 3,  /* bytes, raw */
	MS_MODULE_START = 4,     /* lowest address */
	MS_MODULE_END = 5,       /* one past the highest address */
	MS_MODULE_BIAS = 6,      /* address - bias = address in the ELF file */
	MS_MODULE_LOADED = 7,    /* ns */
	MS_MODULE_UNLOADED = 8,  /* ns; absent = never */
	MS_MODULE_OFFSET = 9,    /* file offset mapped at START */
	MS_MODULE_KIND = 10,     /* 0 file, 1 vdso, 2 anonymous code (JIT), 3 the recorder's guest,
				   4 no module: a heap of the program's own, PATH is its name;
				   5 source file of an interpreter, PATH: see FUNCTION */
	MS_MODULE_SIZE = 11,     /* file size in bytes when it was mapped */
	MS_MODULE_MTIME = 12,    /* file modification, ns since 1970 */
	MS_MODULE_DELETED = 13,  /* 1: the file was deleted or replaced, or is not known */
	MS_MODULE_FUNCTION = 14, /* bytes, repeated: of kind 5 the next function, from 1 on */
	MS_MODULE_NUMBER = 15,   /* before FUNCTION: its number; absent: the next */
};
/* Packs the number of a function and a line (0 = unknown) into the address of a frame of kind 5. */
#define MS_SOURCE_LINE_BITS 24u
#define MS_SOURCE_ADDRESS(function, line)                                                          \
	((uint64_t)(function) << MS_SOURCE_LINE_BITS |                                             \
	 ((line) >> MS_SOURCE_LINE_BITS ? 0 : (uint64_t)(line)))

enum ms_thread_field {
	MS_THREAD_INDEX = 1, /* from 0; a later record of the same index amends it */
	MS_THREAD_TID = 2,
	MS_THREAD_NAME = 3,  /* bytes */
	MS_THREAD_START = 4, /* ns: first event or first sight */
	MS_THREAD_END = 5,   /* ns */
	MS_THREAD_EVENTS_LOST = 6,
	MS_THREAD_WAITED = 7, /* ns that it waited for the recorder */
};

enum ms_sample_field {
	MS_SAMPLE_TIME = 1, /* ns; others in bytes unless said */
	MS_SAMPLE_RSS = 2,
	MS_SAMPLE_PSS = 3,
	MS_SAMPLE_PRIVATE = 4,
	MS_SAMPLE_SWAP = 5,
	MS_SAMPLE_VSZ = 6,
	MS_SAMPLE_MINFLT = 7, /* count since process start */
	MS_SAMPLE_MAJFLT = 8,
	MS_SAMPLE_UTIME = 9,  /* ns */
	MS_SAMPLE_STIME = 10, /* ns */
	MS_SAMPLE_THREADS = 11,
	MS_SAMPLE_HEAP = 12, /* brk + private anonymous */
};

enum ms_mark_field {
	MS_MARK_TIME = 1,   /* ns */
	MS_MARK_NAME = 2,   /* bytes */
	MS_MARK_EVENT = 3,  /* number of events before it */
	MS_MARK_THREAD = 4, /* thread index + 1; 0 = from outside */
};

enum ms_loss_field {
	MS_LOSS_FROM = 1,   /* ns */
	MS_LOSS_TO = 2,     /* ns */
	MS_LOSS_COUNT = 3,  /* events */
	MS_LOSS_REASON = 4, /* MS_LOST_* */
	MS_LOSS_THREAD = 5, /* thread index + 1; 0 = several or unknown */
};
enum ms_loss_reason {
	MS_LOST_OVERFLOW = 1, /* ring full longer than --buffer=wait allows */
	MS_LOST_NO_RING = 2,  /* more threads than rings */
	MS_LOST_REENTRY = 3,  /* a signal inside the hook, no side ring */
	MS_LOST_KILLED = 4,   /* the recorder could not drain */
	MS_LOST_PAUSED = 5,   /* pause was asked for */
	MS_LOST_LIMIT = 6,    /* --max-size, -d or a full disk stopped the recording */
};

/* The blocks that an attached process had already: one record of all, with a state; then one for
 * each size class that has some. */
enum ms_before_field {
	MS_BEFORE_TIME = 1,    /* ns: when it was known */
	MS_BEFORE_STATE = 2,   /* MS_BEFORE_* */
	MS_BEFORE_WHY = 3,     /* bytes: what is not known, and why; absent: all is */
	MS_BEFORE_BLOCKS = 4,  /* when it was attached to; absent: not known */
	MS_BEFORE_BYTES = 5,   /* usable ones, of them; of those given back early a few are missing
				*/
	MS_BEFORE_LARGEST = 6, /* bytes */
	MS_BEFORE_CLASS = 7,   /* of BLOCKS and BYTES: bits of the size; 0 = of 0 bytes or unknown
				*/
};
enum ms_before_state {
	MS_BEFORE_WHOLE = 1,
	MS_BEFORE_PART = 2,
	MS_BEFORE_UNKNOWN = 3, /* another allocator than glibc's, for instance */
};

enum ms_end_field {
	MS_END_TIME = 1,   /* ns */
	MS_END_STATUS = 2, /* exit status; absent when killed by a signal or still running */
	MS_END_SIGNAL = 3,
	MS_END_EVENTS = 4,      /* events in the file, and DROPPED_EVENTS before them */
	MS_END_ALLOCATIONS = 5, /* allocation numbers given, = ALLOC + REALLOC + REALLOC_UNKNOWN */
	MS_END_LOST = 6,        /* events lost in all */
	MS_END_STACKS_CUT = 7,  /* allocations whose stack was cut by --depth */
	MS_END_STACKS_TRUNCATED = 8,
	MS_END_STACKS_NOT_TAKEN = 9,
	MS_END_INFERRED_FREES = 10,
	MS_END_UNKNOWN_FREES = 11,
	MS_END_REPAIRS = 12,     /* frees moved to keep per-address order */
	MS_END_VIOLATIONS = 13,  /* moves of more than 2 us */
	MS_END_WAITED = 14,      /* ns, all threads */
	MS_END_WAITED_MAX = 15,  /* ns, longest single wait */
	MS_END_REASON = 16,      /* MS_ENDED_* */
	MS_END_SUCCESSOR = 17,   /* bytes: file of the image that this one execed, relative to this
				    file's folder */
	MS_END_ALLOCATOR = 18,   /* bytes, repeated: "glibc 2.36" */
	MS_END_IMAGES_KEPT = 19, /* launched image only: further traces in FILE.d */
	MS_END_IMAGES_TRIVIAL = 20,
	MS_END_REMOTE_UNWINDS = 21,
	MS_END_VERIFIED = 22, /* stacks compared in verify mode */
	MS_END_MISMATCHES = 23,
	MS_END_CHILDREN_NOT_RECORDED =
		24,        /* forked children that went on without exec, unrecorded */
	MS_END_INDEX = 25, /* offset of the index block */
	/* Totals of the whole recording, also of what was dropped (--keep=live): */
	MS_END_FREES = 26,
	MS_END_REALLOCATIONS = 27,
	MS_END_FAILED = 28,
	MS_END_ALLOCATED_BYTES = 29,
	MS_END_TEMPORARY = 30,
	MS_END_PEAK_BYTES = 31,
	MS_END_PEAK_BLOCKS = 32,
	MS_END_PEAK_TIME = 33, /* ns */
	MS_END_UNFREED_BYTES = 34,
	MS_END_UNFREED_BLOCKS = 35,
	MS_END_DROPPED_EVENTS = 36,     /* --keep=live: events that are not in the file */
	MS_END_DROPPED_UNTIL = 37,      /* ns: before this only what was still live then is known */
	MS_END_PAUSED = 38,             /* ns that the recording was paused */
	MS_END_PAUSED_ALLOCATIONS = 39, /* allocations that were not recorded meanwhile */
	MS_END_INHERITED_FREES = 40,    /* frees of blocks from before the fork */
	MS_END_BEFORE_FREES = 41,       /* and of blocks from before the attachment; none of these
					   is an UNKNOWN_FREE */
	MS_END_HOOKS = 42,              /* functions that --hook named */
	MS_END_HOOK_MISSING = 43,       /* bytes, repeated: one that no module had */
	MS_END_PEAK_RSS = 44,      /* bytes: the most that was resident, by the kernel's account */
	MS_END_CHAINS_UNREAD = 45, /* chains of an interpreter's frames */
	MS_END_INTERPRETER_UNKNOWN = 46, /* bytes: "Python 3.9.1", whose frames are not read */
	MS_END_ALLOCATOR_MISSED =
		47, /* bytes, repeated: "f in a": it gives out blocks and is not hooked */
	MS_END_LEFT =
		48, /* bytes, repeated: pid of a process that ran on unrecorded after the command */
	MS_END_IMAGES_MISSED =
		49, /* launched image only: further programs that could not be recorded */
};
enum ms_end_reason {
	MS_ENDED_EXIT = 1, /* the process ended */
	MS_ENDED_EXEC = 2, /* it execed another image */
	MS_ENDED_STOP = 3, /* -d, --max-size or a signal stopped the recording */
	MS_ENDED_DISK = 4, /* the output could not be written (written as far as possible) */
};

/* Verdicts: a record with LABEL heads a scan; one with STACK has the blocks of one call stack that
 * were live then. Both name the scan. */
enum ms_verdict_field {
	MS_VERDICT_SCAN = 1,  /* from 1 */
	MS_VERDICT_LABEL = 2, /* bytes: "end", "mark:NAME", "request" */
	MS_VERDICT_TIME = 3,  /* ns */
	MS_VERDICT_EVENT = 4, /* number of events before it */
	MS_VERDICT_STATE = 5, /* MS_SCAN_* */
	MS_VERDICT_PAUSE = 6, /* ns that the process was held for it */
	MS_VERDICT_TOOK = 7,  /* ns that it took in all */
	MS_VERDICT_READ = 8,  /* bytes of memory read */
	MS_VERDICT_STACK = 9, /* stack node; 0 = none */
	MS_VERDICT_DIRECT_BLOCKS = 10,
	MS_VERDICT_DIRECT_BYTES = 11,
	MS_VERDICT_INDIRECT_BLOCKS = 12,
	MS_VERDICT_INDIRECT_BYTES = 13,
	MS_VERDICT_REACHABLE_BLOCKS = 14,
	MS_VERDICT_REACHABLE_BYTES = 15,
	MS_VERDICT_UNKNOWN_BLOCKS = 16,
	MS_VERDICT_UNKNOWN_BYTES = 17,
	MS_VERDICT_RETAINED_BLOCKS = 18, /* its direct blocks, and the indirect ones that they keep
					  */
	MS_VERDICT_RETAINED_BYTES = 19,
	MS_VERDICT_WIDE = 20, /* 1: all memory of the heap that is no recorded block counted as
				 the program's, because not all blocks were recorded */
	MS_VERDICT_ROOT = 21, /* repeated, in order: the stack of direct blocks that retain indirect
				 ones of STACK; then how much */
	MS_VERDICT_ROOT_BLOCKS = 22,
	MS_VERDICT_ROOT_BYTES = 23,
	MS_VERDICT_NUMBER = 24, /* allocations before it: later blocks were not looked at */
	MS_VERDICT_ALIGN =
		25, /* 1 or 4: words were looked for at its multiples; else at those of 8 */
	MS_VERDICT_CLEARED = 26, /* bits of words that were no part of an address */
	/* Marks by memscope.h: */
	MS_VERDICT_IGNORED = 27,        /* blocks that are no leaks whatever points to them */
	MS_VERDICT_ROOT_RANGES = 28,    /* ranges of memory that were roots */
	MS_VERDICT_REFUSED_RANGES = 29, /* those beyond what can be noted */
	MS_VERDICT_LAST = MS_VERDICT_REFUSED_RANGES
};
/* Only after DONE is a block without a pointer to it unreachable; else it is unknown. */
enum ms_scan_state {
	MS_SCAN_DONE = 1,
	MS_SCAN_KILLED = 2,     /* by a signal, or it ended in a way that cannot be held */
	MS_SCAN_TIME = 3,       /* it would have taken, or took, longer than --leak-check allows */
	MS_SCAN_UNREADABLE = 4, /* some of its memory could not be read */
	MS_SCAN_THREADS = 5,    /* its other threads could not be stopped */
	MS_SCAN_LOST = 6,       /* events were lost, so that blocks are missing or freed long ago */
	MS_SCAN_SAMPLED = 7,
	MS_SCAN_MEMORY = 8,  /* too many pointers for the recorder's memory */
	MS_SCAN_STOPPED = 9, /* recording had stopped before the end */
	MS_SCAN_ENDED = 10,  /* asked for, but the process came to its end before it was done */
	MS_SCAN_FILES = 11,  /* the recorder had no descriptor left to read its memory */
};

#define MS_RESIDENT_MOMENTS_MAX 4096u
/* Names the fields about resident memory, known at MS_RESIDENT_MOMENTS_MAX moments at most: a
 * record with LABEL heads a moment, those with STACK have the blocks of one call stack that were
 * live then, those with FILE what is resident of a file. All in bytes unless said; the head's from
 * 14 on are of the process. */
enum ms_resident_field {
	MS_RESIDENT_MOMENT = 1, /* from 1; in every record */
	MS_RESIDENT_LABEL =
		2, /* bytes: "end", "mark:NAME", "request", "resident[:NAME]", "detach" */
	MS_RESIDENT_FILE = 3,      /* bytes: path; empty: all others */
	MS_RESIDENT_STACK = 4,     /* stack node; 0 = none */
	MS_RESIDENT_BLOCKS = 5,    /* a count */
	MS_RESIDENT_BYTES = 6,     /* live, resident or not; of a file: resident */
	MS_RESIDENT_LIVE = 7,      /* of these on resident pages of the heap */
	MS_RESIDENT_UNTOUCHED = 8, /* of these on pages that are neither in memory nor swapped out
				    */
	MS_RESIDENT_PINNED = 9,    /* free, on pages that live blocks are on */
	MS_RESIDENT_ALONE = 10,    /* pages on which there are no other blocks than of this stack */
	MS_RESIDENT_TIME = 14,     /* ns */
	MS_RESIDENT_EVENT = 15,    /* number of events before it */
	MS_RESIDENT_STATE = 16,    /* MS_SCAN_*; unless DONE, there are no figures */
	MS_RESIDENT_PAUSE = 17,    /* ns for which it was held longer for this */
	MS_RESIDENT_RSS = 18,
	MS_RESIDENT_SWAP = 19,
	MS_RESIDENT_FILES = 20,
	MS_RESIDENT_RECORDER = 21, /* the recorder's own memory in the process */
	MS_RESIDENT_STACKS = 22,
	MS_RESIDENT_SLACK = 23, /* absent: not known, and counted as free */
	MS_RESIDENT_FREE = 24,
	MS_RESIDENT_OTHER = 25,
	MS_RESIDENT_WIDE = 26, /* 1: not all blocks were recorded; they count as free */
	/* Fields that only glibc's malloc has, else absent: */
	MS_RESIDENT_TRIM = 27,       /* of FREE, what malloc_trim(0) gives back */
	MS_RESIDENT_ARENAS = 28,     /* a count, without the main one */
	MS_RESIDENT_ARENA_FREE = 29, /* of FREE, whole pages in these */
	MS_RESIDENT_GAPS = 30,       /* of FREE, whole pages in gaps of 128 KiB and more */
};

/* Symbols block: STRING records number from 1 in order, anew in each block; others refer to them by
 * number. */
enum ms_sym_field {
	MS_SYM_STRING = 1, /* bytes; one per record */
	MS_SYM_FRAME =
		2, /* frame number: starts a frame's record; then, innermost inlined first: */
	MS_SYM_FUNCTION = 3, /* string number, 0 = unknown; starts one logical frame of the chain */
	MS_SYM_FILE = 4,     /* string number */
	MS_SYM_LINE = 5,
	MS_SYM_MODULE = 6, /* module id: starts a module's record */
	MS_SYM_STATE = 7,  /* MS_SYMBOLS_* of that module */
	MS_SYM_COLUMN = 8,
	MS_SYM_RUNTIME = 9, /* reserved */
};
enum ms_symbols_state {
	MS_SYMBOLS_NONE = 0,     /* no symbol table found */
	MS_SYMBOLS_ELF = 1,      /* function names from the symbol table only */
	MS_SYMBOLS_DWARF = 2,    /* files and lines too */
	MS_SYMBOLS_MISSING = 3,  /* the file is gone */
	MS_SYMBOLS_MISMATCH = 4, /* the file there has another build-id: not used */
	MS_SYMBOLS_DAMAGED = 5,  /* its debug information cannot be read, or not all of it */
	MS_SYMBOLS_PARTIAL = 6,  /* part of that is in a file that was not found (.dwo, dwz's) */
	MS_SYMBOLS_REFUSED = 7,  /* names from its own symbol table at best: the separate debug file
				    has another checksum or build-id */
};
