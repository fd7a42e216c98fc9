// SPDX-License-Identifier: MIT
// Surfaces are read point by point, cleaned of duplicates, smoothed and measured.
#include "random.h"
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace
{

unsigned long seed = 31;

struct Point {
	float x, y, z;
};
struct Triangle {
	unsigned a, b, c;
};

class Mesh
{
      public:
	explicit Mesh(std::string name) : name(std::move(name))
	{
	}
	void add_point(const Point &p)
	{
		points.reserve(points.size() + 1); // GUILTY: vector grown by one, churn
		points.push_back(p);
	}
	void add_triangle(unsigned a, unsigned b, unsigned c)
	{
		triangles.push_back({a, b, c});
	}
	size_t size() const
	{
		return points.size();
	}
	// Points of one place become one point.
	size_t unique() const
	{
		std::map<std::tuple<int, int, int>, unsigned> seen;
		for (const Point &p : points)
			seen[{static_cast<int>(p.x * 8), static_cast<int>(p.y * 8),
			      static_cast<int>(p.z * 8)}]++;
		return seen.size();
	}
	void smooth()
	{
		std::vector<Point> sums(points.size());
		for (const Triangle &t : triangles) {
			sums[t.a].x += points[t.b].x + points[t.c].x;
			sums[t.b].y += points[t.a].y + points[t.c].y;
			sums[t.c].z += points[t.a].z + points[t.b].z;
		}
		for (size_t i = 0; i < points.size(); i++)
			points[i].x = (points[i].x * 7 + sums[i].x / 2) / 8;
	}
	double area() const
	{
		double sum = 0;
		for (const Triangle &t : triangles)
			sum += std::fabs(points[t.a].x * points[t.b].y -
					 points[t.c].x * points[t.a].y);
		return sum;
	}

      private:
	std::string name;
	std::vector<Point> points;
	std::vector<Triangle> triangles;
};

Mesh read_mesh(unsigned number)
{
	Mesh mesh("surface " + std::to_string(number));
	for (unsigned i = 0; i < 4000; i++)
		mesh.add_point({static_cast<float>(random_below(&seed, 100)),
				static_cast<float>(random_below(&seed, 100)),
				static_cast<float>(random_below(&seed, 20))});
	for (unsigned i = 0; i + 2 < mesh.size(); i++)
		mesh.add_triangle(i, i + 1, i + 2);
	return mesh;
}

} // namespace

int main()
{
	std::vector<Mesh> all;
	double area = 0;
	size_t places = 0;
	for (unsigned i = 0; i < 24; i++) {
		all.push_back(read_mesh(i));
		for (unsigned pass = 0; pass < 3; pass++)
			all.back().smooth();
		places += all.back().unique();
	}
	for (const Mesh &mesh : all)
		area += mesh.area();
	std::printf("%.0f in %zu places\n", area, places);
	return 0;
}
