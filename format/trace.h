/* SPDX-License-Identifier: MIT
 * Constants of the MemScope trace format, version 1. They never change.
 *
 * The prose specification is man/ms-trace.5. Everything is little-endian. Numbers are added, but
 * never changed or reused.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* First eight bytes of a trace. Transfers that treat it as text damage 0x89 and the line ends. */
#define MS_TRACE_MAGIC "\x89MST\r\n\x1a\n"
#define MS_TRACE_MAGIC_SIZE 8
#define MS_TRACE_MAJOR 1
#define MS_TRACE_MINOR 0

/* Length of one tick of event blocks in ns, as this version writes it (tick_ns in the header). */
#define MS_TRACE_TICK_NS 100000u

/* Feature bits. A reader refuses a trace with an unknown `need` bit, and ignores unknown `hint`
 * bits. */
#define MS_FEATURE_ADDRESSES (UINT64_C(1) << 0) /* hint: event blocks hold an address column */

/* Types of blocks. A reader skips unknown types. */
enum ms_block_type {
	MS_BLOCK_INFO = 1,        /* records: MS_INFO_*; first block; a later one amends it */
	MS_BLOCK_EVENTS = 2,      /* columns: MS_COL_*; all threads' events in exact global order */
	MS_BLOCK_STACKS = 3,      /* columns: MS_NODE_*; frames and nodes, before their first use */
	MS_BLOCK_MODULES = 4,     /* records: MS_MODULE_* */
	MS_BLOCK_THREADS = 5,     /* records: MS_THREAD_* */
	MS_BLOCK_SAMPLES = 6,     /* records: MS_SAMPLE_* */
	MS_BLOCK_MARKS = 7,       /* records: MS_MARK_* */
	MS_BLOCK_LOSSES = 8,      /* records: MS_LOSS_* */
	MS_BLOCK_END = 9,         /* one record: MS_END_*; the last end block of a file is valid */
	MS_BLOCK_SYMBOLS = 10,    /* records: MS_SYM_*; appended after an end block */
	MS_BLOCK_CHECKPOINT = 11, /* columns: MS_LIVE_*; the live blocks between two events */
	MS_BLOCK_INDEX = 12,      /* records: MS_INDEX_*; positions of blocks */
	MS_BLOCK_VERDICTS = 13,   /* records: MS_VERDICT_*; results of leak scans */
	MS_BLOCK_BEFORE = 14,     /* records: MS_BEFORE_*; blocks from before an attachment */
	MS_BLOCK_RESIDENT = 15,   /* records: MS_RESIDENT_*; measurements of resident memory */
	MS_BLOCK_RETENTION = 16,  /* records: MS_RETENTION_*; what keeps live blocks reachable */
	MS_BLOCK_SUMS = 17,       /* columns: MS_SUMS_*; appended after an end block */
};

/* Columns of an event block. An absent column is empty. */
enum ms_event_column {
	MS_COL_HEAD = 1, /* varints: first allocation number, first event number, first tick, event
			    count */
	MS_COL_OP = 2,   /* byte per event: kind, and which predictions held */
	MS_COL_THREAD = 3, /* varint per change of thread: thread index */
	MS_COL_STACK = 4,  /* varint per mispredicted stack */
	MS_COL_SIZE = 5,   /* varint per mispredicted size, in bytes */
	MS_COL_FREED = 6,  /* varint per mispredicted free: which block is freed */
	MS_COL_TIME = 7,   /* varint per event with a new tick: difference from the previous one */
	MS_COL_ADDRESS_OLD = 8, /* written by early recorders; no longer read, like
				   MS_COL_HEAP_OLD */
	MS_COL_UNKNOWN = 9,     /* varint per free of an unknown block: its address */
	MS_COL_EXT = 10,        /* payload of MS_EV_EXT events */
	MS_COL_SLACK = 11, /* varint per allocation: usable size - size; absent = not recorded */
	MS_COL_HEAP_OLD = 12,
	MS_COL_ADDRESS =
		13, /* varints per allocation: distance from predicted address; see address.h */
};

/* Columns of a stacks block. Frames and nodes are numbered from 1 in order of appearance in the
 * file; 0 is "none" (the root above every stack). */
enum ms_stacks_column {
	MS_NODE_HEAD = 1, /* varints: number of first frame, frame count, first node, node count */
	MS_NODE_FRAME_MODULE = 2, /* varint per frame: module id, 0 = unknown */
	MS_NODE_FRAME_ADDR =
		3, /* zigzag varint per frame: address minus the address of the previous frame */
	MS_NODE_FRAME_FLAGS = 4, /* varint per frame: MS_FRAME_* */
	MS_NODE_PARENT = 5,      /* varint per node: own number minus that of the caller's node; own
			       number = root */
	MS_NODE_FRAME = 6,       /* zigzag varint per node: frame minus the previous node's frame */
};

/* Columns of a checkpoint: the state of the heap before the event whose number is in the head. A
 * checkpoint is one or more consecutive blocks (part 0, 1, ...) between event blocks. Live blocks
 * are in order of number. */
enum ms_live_column {
	MS_LIVE_HEAD = 1,    /* varints: number of the next event, number of the next allocation,
				tick, live bytes, live blocks, part, parts, blocks in this part */
	MS_LIVE_NUMBER = 2,  /* varint per block: number minus the previous block's, minus 1; first
				block: number */
	MS_LIVE_SIZE = 3,    /* varint per block: size in bytes */
	MS_LIVE_STACK = 4,   /* zigzag varint per block: stack minus the previous block's */
	MS_LIVE_THREAD = 5,  /* varint per block: thread index */
	MS_LIVE_TICK = 6,    /* zigzag varint per block: tick minus the previous block's */
	MS_LIVE_ADDRESS = 7, /* zigzag varint per block: address minus the previous block's; absent:
				not recorded */
	MS_LIVE_SLACK = 8,   /* varint per block: slack, see struct ms_event; absent: not
				recorded */
	MS_LIVE_LAST = 9,    /* varint per thread that allocated, by index: number of its latest
				allocation + 1, 0 = none; in part 0 */
	MS_LIVE_MAPPED = 10, /* mapped ranges in order of address: varint address minus the end of
				the previous range, varint bytes, varint stack; in part 0; absent:
				none, or not recorded */
};

/* Fields of the index, which has one record per preceding block, in order of offset. It is written
 * once, before the last end block of the recording; MS_END_INDEX has its offset. */
enum ms_index_field {
	MS_INDEX_TYPE = 1,   /* MS_BLOCK_* */
	MS_INDEX_OFFSET = 2, /* bytes from the start of the file */
	MS_INDEX_BYTES = 3,  /* size of the block, including its header */
	MS_INDEX_NUMBER = 4, /* number of the block */
	MS_INDEX_TICK = 5,   /* events: tick of the first event; checkpoint: of the next event */
	MS_INDEX_EVENT = 6,  /* events: number of the first event; checkpoint: of the next event */
	MS_INDEX_EVENTS = 7, /* events in the block */
};

/* Columns of the block of sums: a digest of the blocks that it sums up, and the state of their replay
 * at its end. All but the head are tables: varint number of rows, then for each 1024 rows the varints of
 * figure after figure. The figures of each table are those of the table of that name in
 * libcommon/trace/sums.c. */
enum ms_sums_column {
	MS_SUMS_HEAD = 1, /* varints: version of the tables, digest */
	MS_SUMS_TOTALS = 2,
	MS_SUMS_SITES = 3,
	MS_SUMS_OLDEST = 4,
	MS_SUMS_LATE = 5,
	MS_SUMS_THREADS = 6,
	MS_SUMS_SIZES = 7,
	MS_SUMS_SPANS = 8,
	MS_SUMS_GROWN = 9,
	MS_SUMS_HEAPS = 10,
};

/* Flags of a frame. */
#define MS_FRAME_EXACT 1u /* the address is an interrupted instruction, not a return address */
#define MS_FRAME_CUT                                                                               \
	2u /* not a frame: callers omitted between innermost and outermost frames (--depth) */
#define MS_FRAME_TRUNCATED 4u /* not a frame: the callers beyond could not be found */
#define MS_FRAME_NOT_TAKEN 8u /* not a frame: the stack was not walked (rate limit) */
#define MS_FRAME_BEFORE 16u   /* not a frame: allocated before the recording began */
#define MS_FRAME_HEAP 32u     /* not a frame: marks a custom heap, named by its module; outermost */
#define MS_FRAME_NOT_READ 64u /* not a frame: unread interpreter frames of the previous frame */

/* Records blocks hold a sequence of records. A record is a varint byte length, then fields; a field
 * is varint (number << 1 | is_bytes), then a varint value, or a varint length and that many bytes.
 * Fields may repeat (lists); unknown ones are skipped. Times are ns since the start of the
 * recording. */

enum ms_info_field {
	MS_INFO_PID = 1,
	MS_INFO_PPID = 2,
	MS_INFO_EXE = 3,        /* bytes */
	MS_INFO_ARG = 4,        /* bytes, repeated; absent with --without=args */
	MS_INFO_ENV = 5,        /* bytes, repeated: "NAME=value" of selected variables */
	MS_INFO_HOST = 6,       /* bytes */
	MS_INFO_KERNEL = 7,     /* bytes */
	MS_INFO_START_WALL = 8, /* ns since 1970 UTC */
	MS_INFO_START_MONO = 9, /* CLOCK_MONOTONIC ns: common to all traces of a machine */
	MS_INFO_PAGE_SIZE = 10,
	MS_INFO_RECORDER = 11,     /* bytes: "ms-record 0.1.0" */
	MS_INFO_SAMPLE_BYTES = 12, /* 0 = every event */
	MS_INFO_DEPTH = 13,        /* --depth */
	MS_INFO_ATTACHED = 14,     /* 1 = the recorder attached to a running process */
	MS_INFO_CLOCK = 15,        /* bytes: "tsc" or "sequence" */
	MS_INFO_CWD = 16,          /* bytes */
	MS_INFO_SESSION = 17,      /* 16 bytes: equal for all program images (processes between two
				      execs) of one ms-record run */
	MS_INFO_IMAGE = 18,        /* number of this program image in that run, 0 = launched */
	MS_INFO_PARENT_IMAGE = 19, /* program image that forked or exec'ed this one, plus 1 */
	MS_INFO_UID = 20,
	MS_INFO_BOOT_ID = 21, /* bytes */
	/* Fields of a program image created by fork: */
	MS_INFO_FORKED = 22,           /* 1 */
	MS_INFO_FORK_EVENT = 23,       /* events in the parent's trace before the fork */
	MS_INFO_FORK_NUMBER = 24,      /* allocations in the parent's trace before the fork */
	MS_INFO_INHERITED_BLOCKS = 25, /* blocks live in the parent at the fork */
	MS_INFO_INHERITED_BYTES = 26,
	MS_INFO_SAMPLE_SEED = 27,
	MS_INFO_OPTIONS = 28, /* MS_OPTION_*: further options of the recording */
	MS_INFO_STARTED_LATE =
		29, /* ns that the process ran before its recording began (--start-after) */
	/* Fields of a trace cut out of another (ms-filter --trace-out): */
	MS_INFO_CUT = 30,        /* bytes: "FILE by OPTIONS" */
	MS_INFO_CUT_FROM = 31,   /* ns: start of the figures; absent: start of the recording */
	MS_INFO_CUT_EVENT = 32,  /* with CUT_FROM: number of the first event that counts, if several
				   events have that time */
	MS_INFO_CUT_TO = 33,     /* ns: end; absent: end of the recording */
	MS_INFO_CUT_SOME = 34,   /* 1: conditions also removed events within the range */
	MS_INFO_BEGAN = 35,      /* start of an attached process, ns since 1970 UTC */
	MS_INFO_CORE = 37,       /* bytes: core dump that the trace was made from */
	MS_INFO_CORE_LACKS = 38, /* bytes: what of it is missing; absent: nothing */
	MS_INFO_CORE_TRACE = 39, /* bytes: trace of the same run that the call stacks come from */
};

#define MS_OPTION_MMAP 1u        /* mapped address space was recorded */
#define MS_OPTION_USABLE 2u      /* usable sizes were recorded */
#define MS_OPTION_FREE_STACKS 4u /* stacks of frees were recorded */
#define MS_OPTION_KEEP_LIVE 8u   /* at --max-size, freed blocks' events are dropped */
#define MS_OPTION_POLL 16u       /* samples only: no events are recorded */
#define MS_OPTION_KEEP_LAST 32u  /* events older than --keep's limit are dropped */

enum ms_module_field {
	MS_MODULE_ID = 1,        /* from 1; a later record with the same id amends it */
	MS_MODULE_PATH = 2,      /* bytes */
	MS_MODULE_BUILD_ID = 3,  /* bytes, raw */
	MS_MODULE_START = 4,     /* lowest address */
	MS_MODULE_END = 5,       /* one past the highest address */
	MS_MODULE_BIAS = 6,      /* address - bias = address in the ELF file */
	MS_MODULE_LOADED = 7,    /* ns */
	MS_MODULE_UNLOADED = 8,  /* ns; absent = never */
	MS_MODULE_OFFSET = 9,    /* file offset mapped at START */
	MS_MODULE_KIND = 10,     /* 0 file, 1 vdso, 2 anonymous code (JIT), 3 the recorder's guest,
				   4 no module: a custom heap, PATH is its name;
				   5 source file of an interpreter, PATH: see FUNCTION */
	MS_MODULE_SIZE = 11,     /* file size in bytes when it was mapped */
	MS_MODULE_MTIME = 12,    /* file modification, ns since 1970 */
	MS_MODULE_DELETED = 13,  /* 1: the file was deleted or replaced, or is unknown */
	MS_MODULE_FUNCTION = 14, /* bytes, repeated, kind 5: name of the next function, from 1 */
	MS_MODULE_NUMBER = 15,   /* number of the next FUNCTION; absent: previous + 1 */
};
/* Packs a function number and a line (0 = unknown) into the address of a frame in a module of kind
 * 5. */
#define MS_SOURCE_LINE_BITS 24u
#define MS_SOURCE_ADDRESS(function, line)                                                          \
	((uint64_t)(function) << MS_SOURCE_LINE_BITS |                                             \
	 ((line) >> MS_SOURCE_LINE_BITS ? 0 : (uint64_t)(line)))

enum ms_thread_field {
	MS_THREAD_INDEX = 1, /* from 0; a later record with the same index amends it */
	MS_THREAD_TID = 2,
	MS_THREAD_NAME = 3,  /* bytes */
	MS_THREAD_START = 4, /* ns: time of the first event, or when the thread was first seen */
	MS_THREAD_END = 5,   /* ns */
	MS_THREAD_EVENTS_LOST = 6,
	MS_THREAD_WAITED = 7, /* ns waited for the recorder */
	MS_THREAD_OF = 8, /* index of the thread whose events under a label these are; NAME is the
			     label. Absent: no label */
};

enum ms_sample_field {
	MS_SAMPLE_TIME = 1, /* ns; other fields in bytes unless noted */
	MS_SAMPLE_RSS = 2,
	MS_SAMPLE_PSS = 3,
	MS_SAMPLE_PRIVATE = 4,
	MS_SAMPLE_SWAP = 5,
	MS_SAMPLE_VSZ = 6,
	MS_SAMPLE_MINFLT = 7, /* page faults since the start of the process */
	MS_SAMPLE_MAJFLT = 8,
	MS_SAMPLE_UTIME = 9,  /* ns */
	MS_SAMPLE_STIME = 10, /* ns */
	MS_SAMPLE_THREADS = 11,
	MS_SAMPLE_HEAP = 12, /* brk + private anonymous */
};

enum ms_mark_field {
	MS_MARK_TIME = 1,   /* ns */
	MS_MARK_NAME = 2,   /* bytes */
	MS_MARK_EVENT = 3,  /* number of events before the mark */
	MS_MARK_THREAD = 4, /* thread index + 1; 0 = from outside the process */
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
	MS_LOST_REENTRY = 3,  /* events of a signal handler that interrupted a hook */
	MS_LOST_KILLED = 4,   /* the recorder could not read the rings */
	MS_LOST_PAUSED = 5,   /* the user paused the recording */
	MS_LOST_LIMIT = 6,    /* --max-size, -d or a full disk stopped the recording */
};

/* Blocks that an attached process already had: one record for all of them, with a state; then one
 * record for each size class that has blocks. */
enum ms_before_field {
	MS_BEFORE_TIME = 1,    /* ns: time at which this became known */
	MS_BEFORE_STATE = 2,   /* MS_BEFORE_* */
	MS_BEFORE_WHY = 3,     /* bytes: what is unknown, and why; absent: all is known */
	MS_BEFORE_BLOCKS = 4,  /* blocks at the attachment; absent: not known */
	MS_BEFORE_BYTES = 5,   /* usable bytes of BLOCKS; a few blocks freed early may be missing */
	MS_BEFORE_LARGEST = 6, /* bytes */
	MS_BEFORE_CLASS = 7,   /* size class of BLOCKS and BYTES: bits in the size; 0 = size 0 or
				  unknown */
};
enum ms_before_state {
	MS_BEFORE_WHOLE = 1,
	MS_BEFORE_PART = 2,
	MS_BEFORE_UNKNOWN = 3, /* for instance, an allocator other than glibc's */
};

enum ms_end_field {
	MS_END_TIME = 1,   /* ns */
	MS_END_STATUS = 2, /* exit status; absent if killed by a signal or still running */
	MS_END_SIGNAL = 3,
	MS_END_EVENTS = 4,      /* events in the file, plus DROPPED_EVENTS */
	MS_END_ALLOCATIONS = 5, /* allocation numbers used, = ALLOC + REALLOC + REALLOC_UNKNOWN */
	MS_END_LOST = 6,        /* total events lost */
	MS_END_STACKS_CUT = 7,  /* allocations whose stack was cut by --depth */
	MS_END_STACKS_TRUNCATED = 8,
	MS_END_STACKS_NOT_TAKEN = 9,
	MS_END_INFERRED_FREES = 10,
	MS_END_UNKNOWN_FREES = 11,
	MS_END_REPAIRS = 12,     /* frees moved to keep per-address order */
	MS_END_VIOLATIONS = 13,  /* frees moved by more than 2 us */
	MS_END_WAITED = 14,      /* ns waited for the recorder by all threads */
	MS_END_WAITED_MAX = 15,  /* ns, longest single wait */
	MS_END_REASON = 16,      /* MS_ENDED_* */
	MS_END_SUCCESSOR = 17,   /* bytes: path of the trace of the program that this one exec'ed,
				    relative to this file's folder */
	MS_END_ALLOCATOR = 18,   /* bytes, repeated: "glibc 2.36" */
	MS_END_IMAGES_KEPT = 19, /* launched program image only: number of further traces in
				    FILE.d */
	MS_END_IMAGES_TRIVIAL = 20,
	MS_END_REMOTE_UNWINDS = 21,
	MS_END_VERIFIED = 22, /* stacks compared in verify mode */
	MS_END_MISMATCHES = 23,
	MS_END_CHILDREN_NOT_RECORDED =
		24,        /* forked children that continued without exec, unrecorded */
	MS_END_INDEX = 25, /* offset of the index block */
	/* Totals of the whole recording, including dropped events (--keep=live): */
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
	MS_END_DROPPED_EVENTS = 36,      /* --keep=live: events that are not in the file */
	MS_END_DROPPED_UNTIL = 37,       /* ns: of earlier events, the file has only those of blocks
					    that were still live at this time */
	MS_END_PAUSED = 38,              /* ns that the recording was paused */
	MS_END_PAUSED_ALLOCATIONS = 39,  /* allocations not recorded during pauses */
	MS_END_INHERITED_FREES = 40,     /* frees of blocks from before the fork */
	MS_END_BEFORE_FREES = 41,        /* frees of blocks from before the attachment; not in
					   UNKNOWN_FREES, nor are INHERITED_FREES */
	MS_END_HOOKS = 42,               /* functions given by --hook */
	MS_END_HOOK_MISSING = 43,        /* bytes, repeated: a --hook function found in no module */
	MS_END_PEAK_RSS = 44,            /* bytes: peak of resident memory, from the kernel */
	MS_END_CHAINS_UNREAD = 45,       /* chains of interpreter frames that were not read */
	MS_END_INTERPRETER_UNKNOWN = 46, /* bytes: "Python 3.9.1", an interpreter whose frames are
					    not read */
	MS_END_ALLOCATOR_MISSED =
		47, /* bytes, repeated: "f in a": an allocator function that is not hooked */
	MS_END_LEFT =
		48, /* bytes, repeated: pid of a process that outlived the command, unrecorded */
	MS_END_IMAGES_MISSED =
		49, /* launched program image only: number of programs that could not be recorded */
};
enum ms_end_reason {
	MS_ENDED_EXIT = 1, /* the process ended */
	MS_ENDED_EXEC = 2, /* the process exec'ed another program */
	MS_ENDED_STOP = 3, /* -d, --max-size or a signal stopped the recording */
	MS_ENDED_DISK = 4, /* the output could not be written any more */
};

/* Fields of verdicts. A record with LABEL is the head of a scan; a record with STACK has the live
 * blocks of one call stack. Both contain the scan's number. */
enum ms_verdict_field {
	MS_VERDICT_SCAN = 1,  /* from 1 */
	MS_VERDICT_LABEL = 2, /* bytes: "end", "mark:NAME", "request" */
	MS_VERDICT_TIME = 3,  /* ns */
	MS_VERDICT_EVENT = 4, /* number of events before the scan */
	MS_VERDICT_STATE = 5, /* MS_SCAN_* */
	MS_VERDICT_PAUSE = 6, /* ns for which the scan stopped the process */
	MS_VERDICT_TOOK = 7,  /* ns for the whole scan */
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
	MS_VERDICT_RETAINED_BLOCKS = 18, /* the direct blocks, and indirect blocks that they
					    retain */
	MS_VERDICT_RETAINED_BYTES = 19,
	MS_VERDICT_WIDE = 20, /* 1: heap memory outside recorded blocks was scanned as the program's
				 own, since not all blocks were recorded */
	MS_VERDICT_ROOT = 21, /* repeated, in order: stack of direct blocks that retain indirect
				 blocks of STACK; then number and bytes of these indirect blocks */
	MS_VERDICT_ROOT_BLOCKS = 22,
	MS_VERDICT_ROOT_BYTES = 23,
	MS_VERDICT_NUMBER = 24, /* number of allocations before the scan: later blocks were not
				   scanned */
	MS_VERDICT_ALIGN =
		25, /* 1 or 4: alignment in bytes of the words that were scanned; absent: 8 */
	MS_VERDICT_CLEARED = 26, /* bits of words that do not belong to an address */
	/* Marks from memscope.h: */
	MS_VERDICT_IGNORED = 27,        /* blocks that never count as leaks */
	MS_VERDICT_ROOT_RANGES = 28,    /* memory ranges that were roots */
	MS_VERDICT_REFUSED_RANGES = 29, /* ranges that exceeded the limit */
	MS_VERDICT_LAST = MS_VERDICT_REFUSED_RANGES
};
/* States of a scan. A block to which no pointer was found is unreachable only if the state is DONE;
 * else it is unknown. */
enum ms_scan_state {
	MS_SCAN_DONE = 1,
	MS_SCAN_KILLED = 2, /* the process was killed, or ended without a system call that can be
			       intercepted */
	MS_SCAN_TIME = 3,   /* the scan exceeded, or would have exceeded, the limit of
			       --leak-check */
	MS_SCAN_UNREADABLE = 4, /* some memory of the process could not be read */
	MS_SCAN_THREADS = 5,    /* the other threads could not be stopped */
	MS_SCAN_LOST = 6,       /* events were lost, so blocks may be missing or long freed */
	MS_SCAN_SAMPLED = 7,
	MS_SCAN_MEMORY = 8,  /* too many pointers for the recorder's memory */
	MS_SCAN_STOPPED = 9, /* the recording had stopped before the end */
	MS_SCAN_ENDED = 10,  /* the process ended before the requested scan was done */
	MS_SCAN_FILES = 11,  /* the recorder had no free descriptor for reading memory */
	/* Only for retention, whose scan is done: */
	MS_SCAN_KEPT_MEMORY = 12, /* more memory needed than --retention=memory allows */
	MS_SCAN_KEPT_TIME = 13,   /* the time limit was exceeded */
};

/* Fields about retention: what keeps the blocks reachable that were reachable in a scan. A record
 * with STATE is the head of a scan; then come its roots (records with KIND), its sets (with SET,
 * without ROW) and its rows (with ROW), each numbered from 1 without gaps. Only scans with state
 * DONE have any. See retention.h. */
enum ms_retention_field {
	MS_RETENTION_SCAN = 1, /* number of the scan (MS_VERDICT_SCAN); in every record */
	/* Head, all in bytes unless noted: */
	MS_RETENTION_STATE = 2, /* MS_SCAN_* */
	MS_RETENTION_LIVE = 3,  /* KEPT + UNREACHABLE */
	MS_RETENTION_KEPT = 4,  /* sum of RETAINED_BYTES of the rows without PARENT */
	MS_RETENTION_UNREACHABLE = 5,
	MS_RETENTION_BLOCKS = 6, /* number of live blocks; row: of blocks that count in BYTES */
	MS_RETENTION_EDGES = 7,  /* number of pointers between blocks */
	MS_RETENTION_TOOK = 8,   /* ns that finding this took, after the scan */
	MS_RETENTION_ROWS = 9,   /* number of rows */
	/* Root: */
	MS_RETENTION_ROOT = 10,     /* number of the root; set: repeated, its members; row: the root
				       that it stands for */
	MS_RETENTION_KIND = 11,     /* MS_KEEPER_* */
	MS_RETENTION_NAME = 12,     /* bytes: a variable's symbol, a section; else absent */
	MS_RETENTION_MODULE = 13,   /* module id; absent: none */
	MS_RETENTION_OFFSET = 14,   /* address in the module's ELF file; row: offset of the pointer
				       in the blocks of the parent, in bytes, absent: it differs, or
				       is not known */
	MS_RETENTION_SIZE = 15,     /* bytes of the variable, section, frame or mapping */
	MS_RETENTION_THREAD = 16,   /* thread index + 1; absent: of no thread */
	MS_RETENTION_STACK = 17,    /* stack node: of the frame's address, or of the call that made
				       the mapping; row: of its blocks; absent: none */
	MS_RETENTION_OBSERVES = 18, /* number of the root that owns what this one also reaches */
	/* Set: roots that only together keep something. */
	MS_RETENTION_SET = 19,    /* number of the set; row: the set that it stands for */
	MS_RETENTION_OTHERS = 20, /* 1: there are more roots than are listed */
	/* Row: */
	MS_RETENTION_ROW = 21,
	MS_RETENTION_PARENT = 22, /* number of an earlier row; absent: the row stands for ROOT or
				     SET, or it has MS_KEPT_REST */
	MS_RETENTION_FLAGS = 23,  /* MS_KEPT_* */
	MS_RETENTION_BYTES = 24,  /* bytes of the row's own blocks */
	MS_RETENTION_RETAINED_BYTES = 25, /* the row's own, and those of all rows below it */
	MS_RETENTION_RETAINED_BLOCKS = 26,
	MS_RETENTION_DEPTH = 27, /* most blocks of the row in one chain; absent: 1 */
	MS_RETENTION_TYPE = 28,  /* bytes: type of the blocks; of a root: declared type */
	/* A shortest path to blocks of the row: from a root, through blocks of these stacks. */
	MS_RETENTION_PATH_ROOT = 29,
	MS_RETENTION_PATH_STACK = 30,   /* repeated, in order */
	MS_RETENTION_PATH_COUNT = 31,   /* after PATH_STACK: number of blocks; absent: 1 */
	MS_RETENTION_PATH_MAPPING = 32, /* after PATH_STACK: 1 = mappings, not blocks */
	MS_RETENTION_PATH_BLOCKS = 33,  /* number of the row's blocks that it leads to */
	MS_RETENTION_PATH_CUT = 34,     /* 1: further steps at the end are left out */
	MS_RETENTION_MAPPED = 35,       /* bytes of the row's own mappings; not in BYTES */
	/* Row directly below a variable: */
	MS_RETENTION_FROM = 36,  /* least offset of the variable's pointers that lead to the row's
				   own blocks, by any path; absent: 0 */
	MS_RETENTION_UNTIL = 37, /* greatest of these offsets, plus 1; absent: not known */
	MS_RETENTION_LAST = MS_RETENTION_UNTIL
};
/* Kinds of roots. */
enum ms_keeper_kind {
	MS_KEEPER_VARIABLE = 1,
	MS_KEEPER_SECTION = 2,      /* what no symbol covers of a module's data */
	MS_KEEPER_THREAD_LOCAL = 3, /* a thread's instance of a variable */
	MS_KEEPER_FRAME = 4, /* a frame of a thread's stack, or with STACK absent all of it */
	MS_KEEPER_REGISTERS = 5,
	MS_KEEPER_CONTROL = 6, /* the C library's control block of a thread */
	MS_KEEPER_MAPPING = 7, /* a mapping to which nothing points */
	MS_KEEPER_OTHER = 8, /* heap memory outside of recorded blocks, the kernel, marked ranges */
};
#define MS_KEPT_MAPPING 1u /* a row of mappings, not of blocks of the heap */
#define MS_KEPT_REST 2u    /* a row with all that was too small for a row of its own */

#define MS_RESIDENT_MOMENTS_MAX 4096u
/* Fields about resident memory, which is measured at most MS_RESIDENT_MOMENTS_MAX times (moments).
 * A record with LABEL is the head of a moment; records with STACK have the live blocks of one call
 * stack, those with FILE the resident memory of a file. All in bytes unless noted. Fields of the
 * head from 14 on are about the process. */
enum ms_resident_field {
	MS_RESIDENT_MOMENT = 1, /* from 1; in every record */
	MS_RESIDENT_LABEL =
		2, /* bytes: "end", "mark:NAME", "request", "resident[:NAME]", "detach" */
	MS_RESIDENT_FILE = 3,      /* bytes: path; empty: all other files */
	MS_RESIDENT_STACK = 4,     /* stack node; 0 = none */
	MS_RESIDENT_BLOCKS = 5,    /* number of blocks */
	MS_RESIDENT_BYTES = 6,     /* live bytes, resident or not; for a file: resident bytes */
	MS_RESIDENT_LIVE = 7,      /* part of BYTES on resident pages of the heap */
	MS_RESIDENT_UNTOUCHED = 8, /* part of BYTES on pages neither in memory nor swapped out */
	MS_RESIDENT_PINNED = 9,    /* free bytes on pages that also have live blocks */
	MS_RESIDENT_ALONE = 10,    /* bytes of pages with blocks of this stack only */
	/* shared memory that is no file of a disk: memfd, System V, tmpfs; absent in older traces:
	 * part of FILES */
	MS_RESIDENT_SHARED = 11,
	MS_RESIDENT_HUGE = 12,    /* pages of hugetlbfs, which RSS does not count */
	MS_RESIDENT_NO_FILE = 13, /* with FILE: 1 = it is such shared memory */
	MS_RESIDENT_TIME = 14,    /* ns */
	MS_RESIDENT_EVENT = 15,   /* number of events before the measurement */
	MS_RESIDENT_STATE = 16,   /* MS_SCAN_*; only DONE has figures */
	MS_RESIDENT_PAUSE = 17,   /* ns for which the process was stopped in addition */
	MS_RESIDENT_RSS = 18,
	MS_RESIDENT_SWAP = 19,
	MS_RESIDENT_FILES = 20,
	MS_RESIDENT_RECORDER = 21, /* the recorder's own memory in the process */
	MS_RESIDENT_STACKS = 22,
	MS_RESIDENT_SLACK = 23, /* usable minus requested bytes; absent: not known, part of FREE */
	MS_RESIDENT_FREE = 24,
	MS_RESIDENT_OTHER = 25,
	MS_RESIDENT_WIDE = 26, /* 1: not all blocks were recorded; unrecorded ones count as free */
	/* Fields for glibc's malloc only, else absent: */
	MS_RESIDENT_TRIM = 27,       /* part of FREE that malloc_trim(0) would return */
	MS_RESIDENT_ARENAS = 28,     /* number of arenas besides the main one */
	MS_RESIDENT_ARENA_FREE = 29, /* part of FREE: whole pages in these arenas */
	MS_RESIDENT_GAPS = 30,       /* part of FREE: whole pages in gaps of at least 128 KiB */
};

/* Fields of a symbols block. STRING records are numbered from 1, anew in each block; other fields
 * refer to them by number. */
enum ms_sym_field {
	MS_SYM_STRING = 1, /* bytes; one per record */
	MS_SYM_FRAME =
		2, /* frame number: starts a frame's record; its functions follow, innermost inlined
		      first */
	MS_SYM_FUNCTION = 3, /* string number, 0 = unknown; starts one logical frame */
	MS_SYM_FILE = 4,     /* string number */
	MS_SYM_LINE = 5,
	MS_SYM_MODULE = 6, /* module id: starts a module's record */
	MS_SYM_STATE = 7,  /* MS_SYMBOLS_* of the module */
	MS_SYM_COLUMN = 8,
	MS_SYM_RUNTIME = 9, /* reserved */
	/* Variables that are roots (MS_KEEPER_VARIABLE, MS_KEEPER_THREAD_LOCAL): */
	MS_SYM_VARIABLE = 10,  /* module id: starts a variable's record; its FILE and LINE follow */
	MS_SYM_ADDRESS = 11,   /* MS_RETENTION_OFFSET of the root */
	MS_SYM_IN_THREAD = 12, /* 1: thread-local */
	MS_SYM_TYPE = 13,      /* string number: declared type */
	MS_SYM_MEMBERS = 14,   /* string number: offset and name of each member of its struct, a
				  line each, in order; no name: none that tells users anything */
};
enum ms_symbols_state {
	MS_SYMBOLS_NONE = 0,     /* no symbol table found */
	MS_SYMBOLS_ELF = 1,      /* function names from the symbol table only */
	MS_SYMBOLS_DWARF = 2,    /* function names, files and lines */
	MS_SYMBOLS_MISSING = 3,  /* the module's file was not found */
	MS_SYMBOLS_MISMATCH = 4, /* the file found has another build-id and is not used */
	MS_SYMBOLS_DAMAGED = 5,  /* debug information is damaged, in whole or in part */
	MS_SYMBOLS_PARTIAL = 6,  /* part of the debug information is in a file that was not found
				    (.dwo, dwz) */
	MS_SYMBOLS_REFUSED = 7,  /* only the module's own symbol table was used, if any: the
				    separate debug file has another checksum or build-id */
};
