// SPDX-License-Identifier: MIT
// Settings are a tree of JSON: parsed, looked up by path, changed in a copy that then takes its place, and written.
#include "random.h"
#include <cctype>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{

unsigned long seed = 181;

struct Json {
	enum { NUMBER, TEXT, ARRAY, OBJECT } kind = NUMBER;
	double number = 0;
	std::string text;
	std::vector<Json> items;
	std::map<std::string, Json> members;
};

class Parser
{
      public:
	explicit Parser(const char *at) : at(at)
	{
	}
	Json value()
	{
		Json json;
		if (*at == '{') {
			json.kind = Json::OBJECT;
			while (*at++ != '}') {
				std::string key = text();
				at++;
				json.members.emplace(std::move(key), value());
			}
		} else if (*at == '[') {
			json.kind = Json::ARRAY;
			while (*at++ != ']')
				json.items.push_back(value());
		} else if (*at == '"') {
			json.kind = Json::TEXT;
			json.text = text();
		} else {
			char *end;
			json.number = std::strtod(at, &end);
			at = end;
		}
		return json;
	}

      private:
	std::string text()
	{
		const char *from = ++at;
		while (*at++ != '"')
			;
		return std::string(from, at - 1);
	}
	const char *at;
};

void write(const Json &json, std::string &to)
{
	switch (json.kind) {
	case Json::NUMBER:
		to += std::to_string(json.number);
		break;
	case Json::TEXT:
		to += '"' + json.text + '"';
		break;
	case Json::ARRAY:
		for (const Json &item : json.items) {
			to += to.empty() || to.back() != '[' ? "," : "";
			write(item, to);
		}
		break;
	case Json::OBJECT:
		for (const auto &member : json.members) {
			to += '"' + member.first + "\":";
			write(member.second, to);
		}
	}
}

std::string source(unsigned sections)
{
	std::string json = "{";
	for (unsigned i = 0; i < sections; i++) {
		json += (i ? ",\"section" : "\"section") + std::to_string(i) +
			"\":{\"name\":\"the section with number " + std::to_string(i) +
			"\",\"limits\":[1,2,3,4],\"level\":" + std::to_string(i % 9) + "}";
	}
	return json + "}";
}

double level(const Json &settings, const std::string &section)
{
	return settings.members.at(section).members.at("level").number;
}

void change(Json &settings, const std::string &section, double value)
{
	Json changed = settings; // GUILTY: copy of the whole for one change, peak
	changed.members[section].members["level"].number = value;
	settings = std::move(changed);
}

} // namespace

int main()
{
	Json settings = Parser(source(1800).c_str()).value();
	std::vector<std::string> history;
	double sum = 0;
	for (unsigned i = 0; i < 6000; i++) {
		std::string section = "section" + std::to_string(random_below(&seed, 1800));
		sum += level(settings, section);
		if (i % 300 == 150)
			change(settings, section, i % 9);
		history.push_back("looked up the level of " + section);
		if (history.size() > 500)
			history.erase(history.begin());
	}
	std::string written;
	write(settings, written);
	std::printf("%.0f, %zu bytes\n", sum, written.size());
	return 0;
}
