/* The least a driver can do, compiled: measures the pipe and the suite's own share of a round trip.

   Answers every `resolve` with group size 32. The id is found by its text, which only this benchmark may do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    static char line[1 << 20];
    while (fgets(line, sizeof line, stdin)) {
        const char *at = strstr(line, "\"id\":");
        long id = at ? strtol(at + 5, NULL, 10) : 0;
        if (strstr(line, "\"method\":\"initialize\"")) {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"protocol\":1,\"implementation\":{\"name\":\"echo\","
                   "\"version\":\"1\",\"language\":\"C\",\"backend\":\"cpu\"},\"dialect\":\"proposal\","
                   "\"capabilities\":{\"kinds\":[\"resolve\"]}}}\n", id);
        } else if (strstr(line, "\"method\":\"shutdown\"")) {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{}}\n", id);
            return fflush(stdout);
        } else {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"kind\":\"resolve\",\"group_size\":32,"
                   "\"head_dims\":null,\"quantizable\":null,\"compatible\":null}}\n", id);
        }
        fflush(stdout);
    }
    return 0;
}
