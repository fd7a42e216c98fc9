// SPDX-License-Identifier: MIT
// Each round takes a block of 70000 bytes, in inner() called by middle() called by outer(), keeps every second one, and compresses a little.
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

public class Work {
	static final List<ByteBuffer> kept = new ArrayList<>();

	static ByteBuffer inner(int n) { return ByteBuffer.allocateDirect(n); }
	static ByteBuffer middle(int n) { return inner(n); }
	static void outer(int i) {
		ByteBuffer b = middle(70000);
		if (i % 2 == 0)
			kept.add(b);
	}

	// Throws to see stubs of the virtual machine that keep no frame.
	static int check(Object o) {
		try {
			return ((String)o).length();
		} catch (ClassCastException | NullPointerException e) {
			return e.getStackTrace().length > 0 ? 1 : 0;
		}
	}

	static int pack(byte[] data, byte[] to) {
		Deflater d = new Deflater();
		d.setInput(data);
		d.finish();
		int n = d.deflate(to);
		d.end();
		return n;
	}

	static int round(int i, byte[] data, byte[] to) {
		outer(i);
		data[i % 1000] = (byte)i;
		return pack(data, to) + check(i % 100 == 99 ? (Object)i : i % 10 == 9 ? null : "text");
	}

	public static void main(String[] args) throws InterruptedException {
		int rounds = Integer.parseInt(args[0]), pause = Integer.parseInt(args[1]), total = 0;
		System.out.println("begins");
		byte[] data = new byte[1000], to = new byte[2000];
		for (int i = 0; i < rounds; i++) {
			total += round(i, data, to);
			if (pause > 0)
				Thread.sleep(pause);
		}
		System.out.println(kept.size() + " " + total);
	}
}
