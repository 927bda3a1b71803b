import BLE
import Testing

/// Checks with work that is expected to fail.
protocol FailingWork {}

extension FailingWork {
    /// Returns the error that `work` throws.
    func error(
        of work: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> BLEError? {
        do {
            try await work()
            Issue.record("an error was expected", sourceLocation: sourceLocation)
        } catch let error as BLEError {
            return error
        } catch {
            Issue.record("not a BLEError: \(error)", sourceLocation: sourceLocation)
        }
        return nil
    }

    /// Starts `work`, and returns a task with the error that `work` throws.
    func failing(_ work: @escaping @Sendable () async throws -> Void) -> Task<BLEError?, Never> {
        Task {
            do {
                try await work()
                return nil
            } catch {
                return error as? BLEError
            }
        }
    }
}
