public import BLE
public import Testing
internal import Waiting

/// Checks that `body` throws a `BLEError` of that code, and returns the error. Records an issue otherwise.
@discardableResult
public func expectError(
    _ code: BLEError.Code, sourceLocation: SourceLocation = #_sourceLocation, from body: () async throws -> some Any
) async -> BLEError? {
    let error = await #expect(throws: BLEError.self, sourceLocation: sourceLocation) { _ = try await body() }
    #expect(error?.code == code, sourceLocation: sourceLocation)
    return error
}

/// Lets other tasks run until `condition` holds. Records an issue if the time limit is reached first.
public func until(sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async -> Bool) async {
    while await !condition() {
        if Task.isCancelled {
            Issue.record("it never came true", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}

/// Waits until the task is cancelled.
public func untilCancelled() async { try? await Outcome<Void>().wait() }
