extension Central {
    /// The version of this package, as in `Docs/CHANGELOG.md`. A version without a release ends in `-dev`.
    public static let version = "0.1.0-dev"
}
