// SPDX-License-Identifier: MIT
// An editor's session: documents, keystrokes, undo, spelling; everything is destroyed at the end.
#include "random.h"
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace
{

unsigned long seed = 41;

class Dictionary
{
      public:
	Dictionary()
	{
		for (unsigned i = 0; i < 30000; i++)
			words.insert("some-long-word-" + std::to_string(i));
	}
	bool knows(const std::string &word) const
	{
		return words.count(word) != 0;
	}

      private:
	std::unordered_set<std::string> words;
};

struct Edit {
	size_t at;
	std::string before; // the whole line, at each key
};

class Document
{
      public:
	explicit Document(unsigned lines) : lines(lines, std::string(60, '.'))
	{
	}
	void type(size_t line, size_t column, char c)
	{
		auto edit = std::make_unique<Edit>();
		edit->at = line;
		edit->before = lines[line]; // GUILTY: growth until teardown, growth
		undo.push_back(std::move(edit));
		lines[line][column] = c;
	}
	void undo_last(unsigned steps)
	{
		while (steps-- && !undo.empty()) {
			lines[undo.back()->at] = undo.back()->before;
			undo.pop_back();
		}
	}
	std::string save() const
	{
		std::string text;
		for (const auto &line : lines)
			text += line + "\n";
		return text;
	}
	const std::string &line(size_t i) const
	{
		return lines[i];
	}
	size_t count() const
	{
		return lines.size();
	}

      private:
	std::vector<std::string> lines;
	std::vector<std::unique_ptr<Edit>> undo;
};

class Session
{
      public:
	Session()
	{
		for (unsigned i = 0; i < 4; i++)
			documents.push_back(std::make_unique<Document>(2000 + i * 500));
	}
	void step(unsigned i)
	{
		Document &d = *documents[i % documents.size()];
		size_t line = random_below(&seed, static_cast<unsigned>(d.count()));
		d.type(line, random_below(&seed, 60), static_cast<char>('a' + i % 26));
		if (i % 7 == 0)
			unknown += !dictionary.knows("some-long-word-" + std::to_string(i));
		if (i % 100 == 0)
			d.undo_last(3);
		if (i % 2000 == 0)
			saved += d.save().size();
	}
	size_t bytes() const
	{
		return saved + unknown;
	}

      private:
	Dictionary dictionary;
	std::vector<std::unique_ptr<Document>> documents;
	size_t saved = 0, unknown = 0;
};

} // namespace

int main()
{
	Session session;
	for (unsigned i = 0; i < 120000; i++)
		session.step(i);
	std::printf("%zu\n", session.bytes());
	return 0;
}
