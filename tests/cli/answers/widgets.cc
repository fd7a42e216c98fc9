// SPDX-License-Identifier: MIT
// Windows of widgets that are laid out, painted and closed; a theme and glyphs stay for all of them.
#include "random.h"
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{

unsigned long seed = 11;

struct Glyph {
	unsigned width;
	std::vector<unsigned char> pixels;
};

class Font
{
      public:
	const Glyph &glyph(unsigned code)
	{
		auto found = glyphs.find(code);
		if (found != glyphs.end())
			return found->second;
		Glyph glyph{6 + code % 7, std::vector<unsigned char>(16 * (6 + code % 7))};
		return glyphs.emplace(code, std::move(glyph)).first->second;
	}

      private:
	std::map<unsigned, Glyph> glyphs;
};

class Widget
{
      public:
	explicit Widget(std::string title) : title(std::move(title))
	{
	}
	static std::shared_ptr<Widget> add(const std::shared_ptr<Widget> &parent,
					   const std::string &title)
	{
		auto child = std::make_shared<Widget>(title); // GUILTY: shared_ptr cycle, leak
		child->parent = parent;
		parent->children.push_back(child);
		return child;
	}
	unsigned layout(Font &font, unsigned top)
	{
		y = top;
		for (char c : title)
			width += font.glyph(static_cast<unsigned char>(c)).width;
		for (auto &child : children)
			top = child->layout(font, top + 20);
		return top;
	}
	void paint(std::vector<unsigned> &canvas) const
	{
		for (unsigned x = 0; x < width && x < 640; x++)
			canvas[(y % 480) * 640 + x] ^= 0xffffff;
		for (const auto &child : children)
			child->paint(canvas);
	}

      private:
	std::shared_ptr<Widget> parent; // a weak_ptr would let the window go
	std::vector<std::shared_ptr<Widget>> children;
	std::string title;
	unsigned y = 0, width = 0;
};

class Theme
{
      public:
	Theme()
	{
		for (unsigned i = 0; i < 3000; i++)
			colours["widget.state.colour." + std::to_string(i)] = i * 2654435761u;
	}
	unsigned colour(unsigned i) const
	{
		return colours.at("widget.state.colour." + std::to_string(i));
	}

      private:
	std::map<std::string, unsigned> colours;
};

unsigned show(Font &font, const Theme &theme, std::vector<unsigned> &canvas, unsigned number)
{
	auto window = std::make_shared<Widget>("window " + std::to_string(number));
	unsigned panels = 2 + random_below(&seed, 3);
	for (unsigned p = 0; p < panels; p++) {
		auto panel = Widget::add(window, "panel " + std::to_string(p));
		for (unsigned b = 0; b < 8; b++)
			Widget::add(panel,
				    "button for the action with number " + std::to_string(b));
	}
	unsigned bottom = window->layout(font, 0);
	window->paint(canvas);
	return bottom ^ theme.colour(number % 3000);
}

} // namespace

int main()
{
	Font font;
	Theme theme;
	std::vector<unsigned> canvas(640 * 480);
	unsigned sum = 0;
	for (unsigned i = 0; i < 3000; i++)
		sum += show(font, theme, canvas, i);
	std::printf("%u\n", sum);
	return 0;
}
