// SPDX-License-Identifier: MIT
// Log files of a week are read, counted by host, and packed.
#include "random.h"
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{

unsigned long seed = 121;

struct File {
	std::FILE *stream = std::tmpfile();
	~File()
	{
		std::fclose(stream);
	}
};

std::unique_ptr<File> write_day(unsigned lines)
{
	auto file = std::make_unique<File>();
	if (!file->stream)
		std::exit(1);
	for (unsigned i = 0; i < lines; i++)
		std::fprintf(file->stream, "host-%u GET /path/to/something/%u 200\n",
			     random_below(&seed, 400), random_below(&seed, 100000));
	std::rewind(file->stream);
	return file;
}

class Statistics
{
      public:
	void count(const std::string &line)
	{
		std::string host = "host with the name " + line.substr(0, line.find(' '));
		hosts[host]++;
	}
	size_t size() const
	{
		return hosts.size();
	}

      private:
	std::map<std::string, unsigned> hosts;
};

void count_lines(std::FILE *stream, Statistics &statistics)
{
	char line[256];
	while (std::fgets(line, sizeof(line), stream))
		statistics.count(line);
	std::rewind(stream);
}

std::vector<char> read_whole(std::FILE *stream)
{
	std::vector<char> bytes;
	char part[16384];
	size_t n;
	while ((n = std::fread(part, 1, sizeof(part), stream)) > 0)
		bytes.insert(bytes.end(), part, part + n); // GUILTY: whole file in memory, peak
	return bytes;
}

// Runs of equal bytes after each byte is replaced by its difference from what stood 8 before.
std::vector<unsigned char> pack(const std::vector<char> &bytes)
{
	std::vector<unsigned char> packed;
	packed.reserve(1 << 16);
	unsigned char last = 0, run = 0;
	for (size_t i = 8; i < bytes.size() && packed.size() + 2 < packed.capacity(); i++) {
		auto value = static_cast<unsigned char>(bytes[i] - bytes[i - 8]);
		if (value == last && run < 255) {
			run++;
			continue;
		}
		packed.push_back(last);
		packed.push_back(run);
		last = value;
		run = 1;
	}
	return packed;
}

} // namespace

int main()
{
	static const unsigned days[] = {900, 1100, 1000, 120000, 950, 1050, 1000};
	Statistics statistics;
	std::vector<std::vector<unsigned char>> packed;
	std::vector<std::string> index;
	for (unsigned i = 0; i < 20000; i++)
		index.push_back("entry of the index with number " + std::to_string(i));
	for (unsigned lines : days) {
		auto file = write_day(lines);
		count_lines(file->stream, statistics);
		packed.push_back(pack(read_whole(file->stream)));
	}
	size_t sum = index.size();
	for (const auto &part : packed)
		sum += part.size();
	std::printf("%zu hosts, %zu bytes\n", statistics.size(), sum);
	return 0;
}
