// SPDX-License-Identifier: MIT
// An interpreter of expressions: source to tokens to a tree; scopes hold values while a function runs.
#include "random.h"
#include <cctype>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{

struct Value {
	enum { NUMBER, TEXT } kind = NUMBER;
	double number = 0;
	std::string text;
};

struct Node {
	char op = 0; // or 'n' for a number, 'v' for a variable, '=' for an assignment
	double number = 0;
	std::string name;
	std::unique_ptr<Node> left, right;
};

class Parser
{
      public:
	explicit Parser(const std::string &source) : at(source.c_str())
	{
	}
	std::unique_ptr<Node> statement()
	{
		auto node = sum();
		if (node->op == 'v' && *at == '=') {
			at++;
			node->op = '=';
			node->right = statement();
		}
		return node;
	}

      private:
	std::unique_ptr<Node> sum()
	{
		auto left = primary();
		while (*at == '+' || *at == '*') {
			auto node = std::make_unique<Node>();
			node->op = *at++;
			node->left = std::move(left);
			node->right = primary();
			left = std::move(node);
		}
		return left;
	}
	std::unique_ptr<Node> primary()
	{
		auto node = std::make_unique<Node>();
		if (std::isdigit(static_cast<unsigned char>(*at))) {
			char *end;
			node->op = 'n';
			node->number = std::strtod(at, &end);
			at = end;
		} else {
			node->op = 'v';
			while (std::isalnum(static_cast<unsigned char>(*at)))
				node->name += *at++;
		}
		return node;
	}
	const char *at;
};

class Scope
{
      public:
	Value *set(const std::string &name, double number)
	{
		auto found = names.find(name);
		if (found == names.end()) {
			Value *value = new Value; // GUILTY: pointers cleared without delete, leak
			values.push_back(value);
			found = names.emplace(name, value).first;
		}
		found->second->number = number;
		return found->second;
	}
	double get(const std::string &name) const
	{
		auto found = names.find(name);
		return found == names.end() ? 0 : found->second->number;
	}
	void leave()
	{
		names.clear();
		values.clear();
	}

      private:
	std::vector<Value *> values;
	std::map<std::string, Value *> names;
};

double run(const Node &node, Scope &scope)
{
	switch (node.op) {
	case 'n':
		return node.number;
	case 'v':
		return scope.get(node.name);
	case '=':
		return scope.set(node.name, run(*node.right, scope))->number;
	case '*':
		return run(*node.left, scope) * run(*node.right, scope);
	default:
		return run(*node.left, scope) + run(*node.right, scope);
	}
}

using Function = std::vector<std::unique_ptr<Node>>;

Function parse_function(unsigned number)
{
	Function body;
	for (unsigned line = 0; line < 12; line++) {
		std::string n = std::to_string(line), before = std::to_string(line ? line - 1 : 0);
		body.push_back(Parser("local" + n + "=local" + before + "*3+argument+" +
				      std::to_string(number))
				       .statement());
	}
	return body;
}

} // namespace

int main()
{
	std::vector<Function> functions;
	for (unsigned i = 0; i < 400; i++)
		functions.push_back(parse_function(i));
	Scope scope;
	double sum = 0;
	unsigned long seed = 81;
	for (unsigned call = 0; call < 6000; call++) {
		for (const auto &line : functions[random_below(&seed, 400)])
			sum += run(*line, scope);
		std::string trace = "call " + std::to_string(call) + " returned to its caller";
		sum += trace.size();
		scope.leave();
	}
	std::printf("%.0f\n", sum);
	return 0;
}
