"""What all models share: components, EM and Gibbs drivers, the fit and what is done with it."""
