/* SPDX-License-Identifier: MIT
 * Makes the C and C++ runtimes allocate what they never free, and leaks through one of the same
 * functions: 40 streams are its own fault.
 */
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cwchar>
#include <execinfo.h>
#include <iconv.h>
#include <libintl.h>
#include <pwd.h>
#include <string>
#include <thread>

static std::string *mine;

static void leak_streams()
{
	char line[16];
	for (int i = 0; i < 40; i++) {
		FILE *f = fopen("/etc/passwd", "r");
		if (f && !fgets(line, sizeof line, f))
			abort();
	}
}

int main()
{
	void *frames[4];
	time_t now = 0;
	mine = new std::string(1000, 'x');
	puts("hello");
	setlocale(LC_ALL, "en_US.UTF-8");
	localtime(&now);
	getpwnam("root");
	textdomain("nothing");
	backtrace(frames, 4);
	iconv_close(iconv_open("UTF-16", "UTF-8"));
	std::thread([] {}).join();
	leak_streams();
	return mine->size() != 1000;
}
