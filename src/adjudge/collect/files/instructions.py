"""What judges read before they begin, until a lead writes something better: plain paragraphs, no markup."""

INSTRUCTIONS = """\
You see what somebody wants to know, a topic, and some documents that a search might return. Read the topic first: the \
query in large letters, then the description and the narrative, which say what counts.

For each document say whether it is relevant: whether somebody who asked this would find at least a part of the answer \
in it. Judge the document itself, not its look, its age or whether you like it. A page that only repeats the words of \
the query is not relevant. Where you truly cannot tell, say so.

Then rank the documents of the set from the most to the least useful, each with a rank of its own. A relevant document \
always stands above one that is not.

Take the time to read. Some sets have known answers; you see them, with the reasons, after your work is complete. If \
you think that a known answer is wrong, contest it and a person will look."""
