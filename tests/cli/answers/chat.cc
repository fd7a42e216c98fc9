// SPDX-License-Identifier: MIT
// A chat server: users, rooms with their last messages, and a buffer for each user to be sent.
#include "random.h"
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace
{

unsigned long seed = 131;

struct Room {
	std::string topic;
	std::deque<std::string> history;
	std::vector<unsigned> members;
};

class User
{
      public:
	explicit User(unsigned number) : name("user with the number " + std::to_string(number))
	{
	}
	void queue(const std::string &text)
	{
		outgoing += text; // GUILTY: capacity kept, growth
		outgoing += '\n';
	}
	size_t flush()
	{
		size_t size = outgoing.size();
		outgoing.clear(); // the capacity of the longest one stays
		return size;
	}
	const std::string name;

      private:
	std::string outgoing;
};

class Server
{
      public:
	Server()
	{
		for (unsigned i = 0; i < 1500; i++)
			users.push_back(std::make_unique<User>(i));
		for (unsigned i = 0; i < 50; i++) {
			rooms.push_back(std::make_unique<Room>());
			rooms.back()->topic =
				"about the subject with the number " + std::to_string(i);
		}
		for (unsigned i = 0; i < users.size(); i++)
			for (unsigned n = 0; n < 2; n++)
				rooms[random_below(&seed, 50)]->members.push_back(i);
	}
	void say(unsigned from, unsigned in, unsigned words)
	{
		Room &room = *rooms[in];
		std::string text = users[from]->name + ": ";
		for (unsigned i = 0; i < words; i++)
			text += "something ";
		for (unsigned member : room.members)
			users[member]->queue(text);
		room.history.push_back(text);
		if (room.history.size() > 100)
			room.history.pop_front();
	}
	// Somebody comes back and gets all that was said.
	void catch_up(unsigned who, unsigned in)
	{
		for (const auto &text : rooms[in]->history)
			users[who]->queue(text);
	}
	void flush()
	{
		for (auto &user : users)
			sent += user->flush();
	}
	size_t sent = 0;

      private:
	std::vector<std::unique_ptr<User>> users;
	std::vector<std::unique_ptr<Room>> rooms;
};

} // namespace

int main()
{
	Server server;
	for (unsigned i = 0; i < 12000; i++) {
		server.say(random_below(&seed, 1500), random_below(&seed, 50),
			   1 + random_below(&seed, 30));
		if (i % 5 == 0)
			server.catch_up(i / 5 % 1500, random_below(&seed, 50));
		if (i % 4 == 3)
			server.flush();
	}
	std::printf("%zu bytes sent\n", server.sent);
	return 0;
}
