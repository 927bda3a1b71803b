public import Foundation

/// The files of the checkout that the tests were built from.
public enum Checkout {
    private static let root = (0..<4).reduce(URL(filePath: #filePath)) { path, _ in path.deletingLastPathComponent() }

    /// Returns the location of a file or folder, such as `Docs/Errors.md`.
    public static func url(_ path: String) -> URL { root.appending(path: path) }

    /// Returns the text of a file, such as `Docs/Errors.md`.
    public static func text(_ path: String) throws -> String {
        try String(contentsOf: url(path), encoding: .utf8)
    }
}
