/* SPDX-License-Identifier: MIT
 * One of two files of one name: it frees what it takes, and is longer than what is shown whole.
 */
#include <stdlib.h>

void *volatile passing;

void pass_by(int n)
{
	while (n--) {
		passing = malloc(65536);
		free(passing);
	}
}

/* Declares variables that nothing uses: only parts of a file as long as this one are shown. */
extern int unused_0;
extern int unused_1;
extern int unused_2;
extern int unused_3;
extern int unused_4;
extern int unused_5;
extern int unused_6;
extern int unused_7;
extern int unused_8;
extern int unused_9;
extern int unused_10;
extern int unused_11;
extern int unused_12;
extern int unused_13;
extern int unused_14;
extern int unused_15;
extern int unused_16;
extern int unused_17;
extern int unused_18;
extern int unused_19;
extern int unused_20;
extern int unused_21;
extern int unused_22;
extern int unused_23;
extern int unused_24;
extern int unused_25;
extern int unused_26;
extern int unused_27;
extern int unused_28;
extern int unused_29;
extern int unused_30;
extern int unused_31;
extern int unused_32;
extern int unused_33;
extern int unused_34;
extern int unused_35;
extern int unused_36;
extern int unused_37;
extern int unused_38;
extern int unused_39;
extern int unused_40;
extern int unused_41;
extern int unused_42;
extern int unused_43;
extern int unused_44;
extern int unused_45;
extern int unused_46;
extern int unused_47;
extern int unused_48;
extern int unused_49;
