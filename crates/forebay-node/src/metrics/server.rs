//! The HTTP listener of metrics and health.
//!
//! Owns [`serve`]. `/metrics` asks the thread that has the numbers and answers in the text
//! format of OpenMetrics; `/healthz` says that the process runs; `/readyz` that it serves.

use std::io;

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::sync::{mpsc, oneshot};

use super::Door;

/// Where a scrape asks for the text of all metrics.
pub(crate) type Requests = mpsc::Sender<oneshot::Sender<String>>;

/// Serves until the task is dropped.
pub(crate) async fn serve(door: Door, requests: Requests) -> io::Result<()> {
    let routes = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(requests);
    axum::serve(door, routes).await
}

async fn ask(requests: &Requests) -> Option<String> {
    let (answer, text) = oneshot::channel();
    requests.try_send(answer).ok()?;
    text.await.ok()
}

async fn metrics(State(requests): State<Requests>) -> Response {
    match ask(&requests).await {
        Some(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response(),
    }
}

async fn ready(State(requests): State<Requests>) -> Response {
    // The thread that serves answers, or it doesn't serve.
    match ask(&requests).await {
        Some(_) => "ready\n".into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response(),
    }
}
