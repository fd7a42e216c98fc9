# SPDX-License-Identifier: MIT
"""Runs a command in a terminal of its own (120x40), and ends with its status, 128 + the signal's number if one ended it.

in-terminal.py [--hang-up TEXT [--no-signal]] COMMAND..: with --hang-up the terminal goes away once TEXT stood on it, with --no-signal
without a SIGHUP: it is not the command's controlling terminal.
"""
import fcntl, os, pty, struct, sys, termios

args, text, control = sys.argv[1:], None, True
if args[0] == "--hang-up":
	text, args = args[1].encode(), args[2:]
if args[0] == "--no-signal":
	control, args = False, args[1:]
fd, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
pid = os.fork()
if pid == 0:
	os.setsid()
	if control:
		fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
	for i in range(3):
		os.dup2(slave, i)
	os.closerange(3, 64)
	os.environ["TERM"] = "xterm-256color"
	os.execvp(args[0], args)
os.close(slave)
seen = b""
try:
	while True:
		seen = seen[-4096:] + os.read(fd, 65536)
		if text and text in seen:
			break
except OSError:  # its end
	pass
os.close(fd)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
