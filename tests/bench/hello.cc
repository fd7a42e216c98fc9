// SPDX-License-Identifier: MIT
// The smallest C++ program that a user records: what start-up and symbols cost is nearly all there is.
#include <iostream>
#include <string>

int main()
{
	std::string text = "hello, ";
	text += std::string(40, '.') + " world";
	std::cout << text << '\n';
}
