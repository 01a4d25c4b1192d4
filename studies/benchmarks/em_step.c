/* One EM step of Dawid and Skene as in a textbook: log tables, log-sum-exp, one loop over the judgments.
 * It is the reference of a benchmark; nothing in the package uses it. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

double step(int64_t items, int64_t judges, int labels, const int64_t *start, const int32_t *judge, const uint8_t *label,
            double *prevalence, double *confusion /* judge, label, truth */, double *tally, double *posterior)
{
    int64_t cells = judges * labels * labels;
    double *logs = malloc(cells * sizeof(double)), *sums = malloc(judges * labels * sizeof(double));
    double truth[256] = {0}, score[256], evidence = 0;
    for (int64_t c = 0; c < cells; c++) { logs[c] = log(fmax(confusion[c], 1e-100)); tally[c] = 0; }
    for (int64_t i = 0; i < items; i++) {
        for (int k = 0; k < labels; k++) score[k] = log(fmax(prevalence[k], 1e-100));
        for (int64_t n = start[i]; n < start[i + 1]; n++) {
            const double *row = logs + ((int64_t)judge[n] * labels + label[n]) * labels;
            for (int k = 0; k < labels; k++) score[k] += row[k];
        }
        double most = score[0], total = 0;
        for (int k = 1; k < labels; k++) if (score[k] > most) most = score[k];
        for (int k = 0; k < labels; k++) { score[k] = exp(score[k] - most); total += score[k]; }
        evidence += most + log(total);
        for (int k = 0; k < labels; k++) { score[k] /= total; truth[k] += score[k]; posterior[i * labels + k] = score[k]; }
        for (int64_t n = start[i]; n < start[i + 1]; n++) {
            double *row = tally + ((int64_t)judge[n] * labels + label[n]) * labels;
            for (int k = 0; k < labels; k++) row[k] += score[k];
        }
    }
    for (int k = 0; k < labels; k++) prevalence[k] = truth[k] / items;
    for (int64_t j = 0; j < judges; j++)
        for (int k = 0; k < labels; k++) {
            double sum = 0;
            for (int l = 0; l < labels; l++) sum += tally[(j * labels + l) * labels + k];
            sums[j * labels + k] = sum;
        }
    for (int64_t j = 0; j < judges; j++)
        for (int l = 0; l < labels; l++)
            for (int k = 0; k < labels; k++) {
                double sum = sums[j * labels + k];
                if (sum > 0) confusion[(j * labels + l) * labels + k] = tally[(j * labels + l) * labels + k] / sum;
            }
    free(logs); free(sums);
    return evidence;
}
